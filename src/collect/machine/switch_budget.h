// How many context switches a recording may look at before it costs too much.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace clrscope::collect {

class SwitchBudget {
 public:
  // Two seconds' worth may come at once.
  SwitchBudget(std::uint64_t per_second, TraceTime now)
      : per_second_(static_cast<double>(per_second)), left_(2 * per_second_), looked_(now) {}

  // Used up, when there have been so many since it was made?
  bool exceeded(std::uint64_t switches, TraceTime now) {
    const auto seconds = std::chrono::duration<double>{now - looked_}.count();
    left_ = std::min(left_ + per_second_ * seconds, 2 * per_second_);
    left_ -= static_cast<double>(switches - counted_);
    looked_ = now;
    counted_ = switches;
    return left_ < 0;
  }

 private:
  double per_second_;
  double left_;
  TraceTime looked_;
  std::uint64_t counted_ = 0;
};

}  // namespace clrscope::collect
