// The clocks. Model time is CLOCK_MONOTONIC in nanoseconds: the clock that EventPipe and perf use
// too.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace clrscope {

struct TraceClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TraceClock, duration>;
  // NOLINTNEXTLINE(readability-identifier-naming): the standard's name
  static constexpr bool is_steady = true;
  static time_point now();
};
using TraceTime = TraceClock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

WallTime wall_now();

// "2026-11-15T02:45:12.123Z"
std::string iso8601(WallTime time);

// A moment by which something must have ended; what is left of it, never below zero.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds from_now);  // nanoseconds::max() is never
  explicit Deadline(TraceTime at) : at_(at) {}

  std::chrono::milliseconds left() const;
  int poll_timeout() const;  // milliseconds for poll(2), rounded up
  bool passed() const { return TraceClock::now() >= at_; }
  TraceTime at() const { return at_; }

 private:
  TraceTime at_;
};

}  // namespace clrscope
