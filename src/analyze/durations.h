// Times between times that may be anything: a trace is input. What does not fit stays at the limit.
#pragma once

#include <limits>

#include "base/clock.h"

namespace clrscope::analyze {

inline std::chrono::nanoseconds limited(bool overflow, bool negative, std::int64_t value) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (!overflow) return std::chrono::nanoseconds{value};
  return std::chrono::nanoseconds{negative ? Limits::min() : Limits::max()};
}

inline std::chrono::nanoseconds between(TraceTime from, TraceTime to) {
  const auto a = to.time_since_epoch().count();
  const auto b = from.time_since_epoch().count();
  std::int64_t value = 0;
  const bool overflow = __builtin_sub_overflow(a, b, &value);
  return limited(overflow, a < b, value);
}

inline std::chrono::nanoseconds sum(std::chrono::nanoseconds a, std::chrono::nanoseconds b) {
  std::int64_t value = 0;
  const bool overflow = __builtin_add_overflow(a.count(), b.count(), &value);
  return limited(overflow, b.count() < 0, value);
}

inline void grow(std::chrono::nanoseconds& total, std::chrono::nanoseconds by) {
  total = sum(total, by);
}

// Of a payload's nanoseconds as a double, which may be anything too.
inline std::chrono::nanoseconds whole_ns(double value) {
  constexpr double kMost = 1e18;
  if (!(value > 0)) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{static_cast<std::int64_t>(value < kMost ? value : kMost)};
}

// The time so much earlier; the earliest there is where that would be before it.
inline TraceTime earlier(TraceTime time, std::uint64_t ns) {
  const auto count = time.time_since_epoch().count();
  const auto room = static_cast<std::uint64_t>(count) - static_cast<std::uint64_t>(INT64_MIN);
  return ns > room ? TraceTime::min()
                   : TraceTime{std::chrono::nanoseconds{
                         static_cast<std::int64_t>(static_cast<std::uint64_t>(count) - ns)}};
}

}  // namespace clrscope::analyze
