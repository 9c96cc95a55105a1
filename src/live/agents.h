// Who listens to the agents of processes on behalf of pages.
//
// A listener ends when nobody has asked for what it heard for a while: a closed page costs the
// process nothing. Any thread may call it.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "ops/agent_listener.h"

namespace clrscope::live {

// Words of rooms below that are part of this interface.
using ops::AgentSeen;

class Agents {
 public:
  Agents();
  ~Agents();

  // From now on these sources are on. None: what was heard stays until it is forgotten.
  Result<> switch_to(pid_t pid, std::uint32_t sources);
  // What was heard; nothing: nobody listens. Asking keeps the listener.
  std::optional<AgentSeen> seen(pid_t pid);
  // Before the agent leaves, or another one wants to listen.
  void forget(pid_t pid);

 private:
  struct Kept {
    std::shared_ptr<ops::AgentListener> listener{};
    TraceTime asked{};
  };
  void run(std::stop_token stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<pid_t, Kept> kept_;
  std::jthread cleaner_;  // last member: joins first
};

}  // namespace clrscope::live
