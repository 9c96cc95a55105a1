// CPU time of the threads of a process that send its events: the runtime's own, one for each
// session of any tool and one that takes orders. The part of a session's cost that the kernel
// measures; what the program's threads spend on writing events is not in it.
//
// Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"

namespace clrscope::live {

class EventCpu {
 public:
  // `tasks`: "/proc/4312/task"; empty: unknown. Counts from now on.
  explicit EventCpu(std::string tasks);

  void look(TraceTime now);  // does nothing if the last look was less than a second ago
  std::optional<std::chrono::nanoseconds> total() const;
  std::string unknown() const;  // why there is no total; empty: there is one

 private:
  static constexpr std::chrono::seconds kEvery{1};
  void count(bool is_first);

  const std::string tasks_;
  mutable std::mutex mutex_;
  std::map<std::string, std::chrono::nanoseconds> threads_;  // their time at the last look
  std::chrono::nanoseconds total_{};
  TraceTime last_{};
  std::string unknown_;
};

}  // namespace clrscope::live
