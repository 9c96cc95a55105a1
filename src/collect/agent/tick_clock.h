// Ticks of the processor's clock, as the agent stamps its records, to model time.
#pragma once

#include "base/clock.h"
#include "wire/arena.h"

namespace clrscope::collect {

class TickClock {
 public:
  TickClock() = default;
  // Two moments in both clocks, from memory that is not trusted.
  TickClock(wire::ClockPair first, wire::ClockPair last) : first_(first) {
    if (last.tsc > first.tsc && last.monotonic_ns > first.monotonic_ns)
      ns_per_tick_ = static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
                     static_cast<double>(last.tsc - first.tsc);
  }

  // False: nothing is known of the clock yet.
  explicit operator bool() const { return ns_per_tick_ > 0; }

  std::chrono::nanoseconds duration_of(std::uint64_t ticks) const {
    return std::chrono::nanoseconds{limited(static_cast<double>(ticks) * ns_per_tick_)};
  }
  TraceTime time_of(std::uint64_t ticks) const {
    const auto since = ticks >= first_.tsc ? static_cast<double>(ticks - first_.tsc)
                                           : -static_cast<double>(first_.tsc - ticks);
    const auto begin =
        static_cast<std::int64_t>(first_.monotonic_ns < kMost ? first_.monotonic_ns : kMost);
    return TraceTime{std::chrono::nanoseconds{begin + limited(since * ns_per_tick_)}};
  }

 private:
  static constexpr std::uint64_t kMost = 1'000'000'000'000'000'000;
  static std::int64_t limited(double ns) {
    constexpr auto kLimit = static_cast<double>(kMost);
    return static_cast<std::int64_t>(ns > kLimit ? kLimit : ns < -kLimit ? -kLimit : ns);
  }

  wire::ClockPair first_{};
  double ns_per_tick_ = 0;
};

}  // namespace clrscope::collect
