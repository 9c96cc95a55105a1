#include "base/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace clrscope {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace

TraceTime TraceClock::now() { return TraceTime{read_clock(CLOCK_MONOTONIC)}; }

WallTime wall_now() { return WallTime{read_clock(CLOCK_REALTIME)}; }

std::string iso8601(WallTime time) {
  using namespace std::chrono;
  const auto whole_day = floor<days>(time);
  const year_month_day date{whole_day};
  const hh_mm_ss clock{floor<milliseconds>(time - whole_day)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Deadline::Deadline(std::chrono::nanoseconds from_now) : at_(TraceClock::now()) {
  at_ += std::min(from_now, TraceTime::max() - at_);
}

std::chrono::milliseconds Deadline::left() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - TraceClock::now());
  return std::max(left, std::chrono::milliseconds{0});
}

int Deadline::poll_timeout() const {
  return static_cast<int>(std::min<std::int64_t>(left().count(), INT_MAX));
}

}  // namespace clrscope
