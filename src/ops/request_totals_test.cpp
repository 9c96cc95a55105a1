#include "ops/request_totals.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr collect::RequestCounts kFirst{.helper = wire::HelperState::kEnabled,
                                        .seen = 10,
                                        .sampled = 4,
                                        .forced = 1,
                                        .ended = 9,
                                        .in_flight = 1,
                                        .probability = 0.5,
                                        .cost = nanoseconds{100},
                                        .hearing = nanoseconds{50},
                                        .process = nanoseconds{1000},
                                        .dropped = 3,
                                        .ends_dropped = 2};

TEST(RequestTotals, AddUpOverOrders) {
  RequestTotals totals;
  totals.pause(kFirst);
  totals.resume();
  const auto all = totals.with({.seen = 5, .sampled = 5, .in_flight = 2, .dropped = 1});
  EXPECT_EQ(all.seen, 15U);
  EXPECT_EQ(all.sampled, 9U);
  EXPECT_EQ(all.in_flight, 2U);
  EXPECT_EQ(all.dropped, 4U);
  EXPECT_EQ(all.ends_dropped, 3U) << "one was in flight";
  EXPECT_EQ(all.process.count(), 1000);
}

// The process may end there: the agent never starts the next order.
TEST(RequestTotals, CountAnOrderOnceBetweenItsEndAndTheNextOne) {
  RequestTotals totals;
  totals.pause(kFirst);
  const auto all = totals.with(kFirst);
  EXPECT_EQ(all.seen, 10U);
  EXPECT_EQ(all.sampled, 4U);
  EXPECT_EQ(all.forced, 1U);
  EXPECT_EQ(all.in_flight, 0U);
  EXPECT_EQ(all.cost.count(), 100);
  EXPECT_EQ(all.hearing.count(), 50);
  EXPECT_EQ(all.process.count(), 1000);
  EXPECT_EQ(all.dropped, 3U);
  EXPECT_EQ(all.ends_dropped, 3U);
  EXPECT_EQ(all.helper, wire::HelperState::kEnabled);
}

}  // namespace
}  // namespace clrscope::ops
