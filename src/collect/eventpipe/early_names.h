// The names of methods, taken early and kept aside, for a recording whose target may die.
//
// A recording gets its method names when it stops, from a target that lives. Here two sessions of
// our own get them before: a short one whose only content is the rundown of what is loaded now, and
// one that stays open for what is loaded later. The runtime's work for the first is the same as at
// the end of any recording.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "ipc/commands.h"
#include "ipc/endpoint.h"

namespace clrscope::collect {

class NamesFile;

// A session whose only content is the rundown that comes when it is stopped.
ipc::SessionConfig rundown_only();

class EarlyNames {
 public:
  // Begins after `delay`, on a thread of its own. Names go to unlinked files in `folder`.
  EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay);
  ~EarlyNames();
  EarlyNames(const EarlyNames&) = delete;
  EarlyNames& operator=(const EarlyNames&) = delete;

  struct Traces {
    Bytes loaded_before{};  // a rundown
    Bytes loaded_later{};
    bool empty() const { return loaded_before.empty() && loaded_later.empty(); }
  };
  // Ends the sessions; the traces live as long as this.
  Traces take();

 private:
  void run(std::stop_token stop, std::chrono::nanoseconds delay);

  ipc::Endpoint& runtime_;
  std::string folder_;
  std::unique_ptr<NamesFile> before_;
  std::unique_ptr<NamesFile> later_;
  std::jthread worker_;  // last: joins first
};

}  // namespace clrscope::collect
