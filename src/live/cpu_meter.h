// How much CPU a process uses now: from what it had used at the moments it was looked at. Time is
// an argument.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "base/clock.h"

namespace clrscope::live {

class CpuMeter {
 public:
  // What it has used since it started.
  void add(TraceTime now, std::chrono::nanoseconds used);
  // Over the last five seconds, or since the look before that; 100 is one core. Nothing until there
  // are two looks.
  std::optional<double> percent() const;

 private:
  struct Look {
    TraceTime time{};
    std::chrono::nanoseconds used{};
  };
  std::deque<Look> looks_;  // the oldest first
};

}  // namespace clrscope::live
