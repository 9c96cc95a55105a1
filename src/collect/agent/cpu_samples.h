// CPU samples of one process, taken by the agent inside it, as the records that perf gives.
//
// For machines whose kernel refuses perf: the copied stacks are unwound and named by the same code.
// Belongs to one thread. The process may be hostile: what it shares is checked.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "collect/agent/connection.h"
#include "collect/agent/outer_threads.h"
#include "collect/perf/record.h"

namespace clrscope::collect {

class AgentCpuSamples {
 public:
  // Borrows the connection.
  AgentCpuSamples(AgentConnection& connection, pid_t pid, unsigned rate)
      : connection_(connection), pid_(pid), rate_(rate) {}

  pid_t process() const { return pid_; }
  // Makes us the one that the agent talks to; Errc::kBusy: another clrscope is. start() does it
  // too.
  Result<> open();
  Result<> start();
  // Switches the timers off; what they have given so far is still there. A process that has ended
  // is not an error.
  Result<> stop();

  // Gives the samples that have come, in the order of their time. The newest stay until the next
  // call, or until stop() was called: others may still be on their way.
  void drain(const std::function<void(const perf::Record&)>& take);

  std::uint64_t lost() const;  // samples that the rings had no room for
  // What is missing, a line each.
  std::vector<std::string> notes() const;

 private:
  struct Kept {
    wire::CpuSample fixed;
    std::vector<std::uint8_t> stack;
  };
  void keep(const void* bytes, std::uint32_t size);
  void give(const Kept& kept, const std::function<void(const perf::Record&)>& take);

  AgentConnection& connection_;
  pid_t pid_;
  unsigned rate_;
  std::optional<AgentArena> arena_;
  std::deque<Kept> kept_;
  std::unordered_map<std::uint32_t, ThreadId> threads_;  // as the process numbers them
  std::optional<OuterThreads> outer_threads_;            // with the arena
  bool stopped_ = false;
  TraceTime started_{};
  std::uint64_t samples_ = 0;
  std::uint64_t weight_ns_ = 0;
  std::uint64_t cpu_before_ns_ = 0;
  std::uint64_t cpu_after_ns_ = 0;
  std::chrono::nanoseconds price_before_{};  // what its samples had cost the process by then
};

}  // namespace clrscope::collect
