#include "live/request_rate.h"

#include <gtest/gtest.h>

namespace clrscope::live {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1000s};

CounterSeries duration_of(std::uint64_t count, std::chrono::nanoseconds age = 0s) {
  return {.last = {.time = kNow - age,
                   .name = "http.server.request.duration",
                   .kind = hub::CounterKind::kHistogram,
                   .meter = true,
                   .count = count,
                   .interval = 2s}};
}
CounterSeries event_counter(double value) {
  return {.last = {.time = kNow,
                   .name = "requests-per-second",
                   .kind = hub::CounterKind::kRate,
                   .value = value,
                   .interval = 1s}};
}
CounterSeries in_flight() {
  return {.last = {.time = kNow, .name = "http.server.active_requests", .meter = true}};
}

TEST(RequestRate, IsTheSumOverRoutesOfWhatTheMeterCounted) {
  const CounterSeries all[] = {duration_of(10), in_flight(), duration_of(4)};
  EXPECT_EQ(request_rate_of(all, kNow).per_second, 7);
}

TEST(RequestRate, IsZeroForRoutesThatWereNotToldAgain) {
  const CounterSeries all[] = {duration_of(10, 8s), in_flight()};
  EXPECT_EQ(request_rate_of(all, kNow).per_second, 0);
}

TEST(RequestRate, ComesFromEventCountersWhereThereIsNoMeter) {
  const CounterSeries all[] = {event_counter(12)};
  EXPECT_EQ(request_rate_of(all, kNow).per_second, 12);
}

TEST(RequestRate, SaysWhyItIsUnknown) {
  EXPECT_NE(request_rate_of({}, kNow).unknown, "");
  const CounterSeries others[] = {in_flight()};
  EXPECT_EQ(request_rate_of(others, kNow).unknown,
            "the counters that are read now do not include requests");
  const CounterSeries old[] = {duration_of(10, 60s)};
  EXPECT_EQ(request_rate_of(old, kNow).unknown, "its last counters are 60 s old");
  EXPECT_FALSE(request_rate_of(old, kNow).per_second);
}

}  // namespace
}  // namespace clrscope::live
