// What a recording may spend on something that nobody asked for by name: so much a second, saved up
// for a while. What is counted is the owner's affair: context switches, or nanoseconds of the
// program's time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace clrscope::collect {

class Budget {
 public:
  // At once so many seconds' worth may be spent.
  Budget(std::uint64_t per_second, double at_once, TraceTime now)
      : allowed_(static_cast<double>(per_second)),
        most_(at_once * allowed_),
        left_(most_),
        last_{now, 0},
        recent_(last_),
        before_(last_) {}

  // Used up, when so much has been spent since it was made?
  bool exceeded(std::uint64_t spent, TraceTime now) {
    left_ = std::min(left_ + allowed_ * seconds(now - last_.time), most_);
    left_ -= static_cast<double>(spent - last_.spent);
    last_ = {now, spent};
    if (now - recent_.time >= std::chrono::seconds{1}) {
      before_ = recent_;
      recent_ = last_;
    }
    return left_ < 0;
  }
  // Of the last second or two.
  std::uint64_t per_second() const {
    const auto passed = std::max(seconds(last_.time - before_.time), 0.001);
    return static_cast<std::uint64_t>(static_cast<double>(last_.spent - before_.spent) / passed);
  }

 private:
  struct Reading {
    TraceTime time;
    std::uint64_t spent;
  };
  static double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>{time}.count();
  }

  double allowed_;  // a second
  double most_;
  double left_;
  Reading last_;
  Reading recent_;
  Reading before_;
};

}  // namespace clrscope::collect
