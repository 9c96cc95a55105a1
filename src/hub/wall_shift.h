// How far the wall clock was set since the beginning: sessions last for months, and their events
// carry the monotonic clock only.
//
// What is less than a step (a clock that is being adjusted) is left until it adds up, so that times
// do not tremble. Belongs to one thread.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"

namespace clrscope::hub {

class WallShift {
 public:
  static constexpr std::chrono::milliseconds kStep{100};

  // To be added to wall times that were computed from the distance of the clocks at the first call.
  std::chrono::nanoseconds at(TraceTime now, WallTime wall) {
    const auto distance = wall.time_since_epoch() - now.time_since_epoch();
    if (!first_) first_ = distance;
    if (std::chrono::abs(distance - *first_ - shift_) >= kStep) shift_ = distance - *first_;
    return shift_;
  }

 private:
  std::optional<std::chrono::nanoseconds> first_;
  std::chrono::nanoseconds shift_{};
};

}  // namespace clrscope::hub
