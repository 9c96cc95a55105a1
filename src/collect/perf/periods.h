// The time between two CPU samples, changed at random again and again, and which was in force when.
//
// With a fixed one, a program whose work repeats in the same rhythm is sampled always at the same
// place of its round. The kernel goes on to say the first period in samples of an event whose
// period was changed (seen with 6.18): so we remember.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <random>

#include "base/clock.h"

namespace clrscope::collect::perf {

class Periods {
 public:
  static constexpr double kSpread = 0.25;  // of the rate, either way

  explicit Periods(unsigned rate, std::uint64_t seed = std::random_device{}())
      : rate_(rate), random_(seed) {}

  // What an event says that has never been changed; next() never gives it.
  static std::chrono::nanoseconds usual(unsigned rate) {
    return std::chrono::nanoseconds{std::chrono::seconds{1}} / rate;
  }

  // Another one. On average there are `rate` samples a second.
  std::chrono::nanoseconds next() {
    using std::chrono::nanoseconds;
    std::uniform_real_distribution<double> rates{rate_ * (1 - kSpread), rate_ * (1 + kSpread)};
    const nanoseconds period =
        std::max(kShortest, nanoseconds{static_cast<std::int64_t>(1e9 / rates(random_))});
    return period == usual(rate_) ? period + nanoseconds{1} : period;
  }
  void set(TraceTime since, std::chrono::nanoseconds period) {
    history_.push_back({since, period});
    if (history_.size() > kKept) history_.pop_front();
  }
  // That of a sample taken at `time`.
  std::chrono::nanoseconds at(TraceTime time) const {
    for (auto change = history_.rbegin(); change != history_.rend(); ++change)
      if (change->since <= time) return change->period;
    return history_.empty() ? usual(rate_) : history_.front().period;
  }

 private:
  static constexpr std::chrono::nanoseconds kShortest{10'000};  // that the kernel takes
  static constexpr std::size_t kKept = 256;  // far longer than samples lie in the rings
  struct Change {
    TraceTime since;
    std::chrono::nanoseconds period;
  };

  unsigned rate_;
  std::mt19937_64 random_;
  std::deque<Change> history_;
};

}  // namespace clrscope::collect::perf
