#include "base/clock.h"

#include <gtest/gtest.h>

#include <climits>
#include <ctime>

namespace clrscope {
namespace {

using namespace std::chrono_literals;

TEST(Iso8601, WritesMillisecondsInUtc) {
  EXPECT_EQ(iso8601(WallTime{1794710712s + 123ms}), "2026-11-15T02:45:12.123Z");
  EXPECT_EQ(iso8601(WallTime{}), "1970-01-01T00:00:00.000Z");
}

TEST(Iso8601, CutsBelowTheMillisecond) {
  EXPECT_EQ(iso8601(WallTime{1s - 1ns}), "1970-01-01T00:00:00.999Z");
}

TEST(Iso8601, KnowsTimesBefore1970AndLeapDays) {
  EXPECT_EQ(iso8601(WallTime{-1ms}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(iso8601(WallTime{1709164800s}), "2024-02-29T00:00:00.000Z");
}

TEST(TraceClock, IsTheKernelsMonotonicClock) {
  const auto before = TraceClock::now();
  timespec now{};
  ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &now), 0);
  const TraceTime kernel{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
  EXPECT_LE(before, kernel);
  EXPECT_LE(kernel, TraceClock::now());
}

TEST(Deadline, HasPassedWhenItLiesBehind) {
  const Deadline deadline{TraceClock::now() - 1s};
  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.left(), 0ms);
  EXPECT_EQ(deadline.poll_timeout(), 0);
}

TEST(Deadline, RoundsWhatIsLeftUp) {
  const Deadline deadline{1h};
  EXPECT_FALSE(deadline.passed());
  EXPECT_GT(deadline.left(), 59min);
  EXPECT_LE(deadline.left(), 1h);
}

TEST(Deadline, MayLieForEverAhead) {
  const Deadline deadline{std::chrono::nanoseconds::max()};
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(deadline.poll_timeout(), INT_MAX);
}

}  // namespace
}  // namespace clrscope
