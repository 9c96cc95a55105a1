#include "uplink/self_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::uplink {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;

TraceTime at(int time) { return TraceTime{nanoseconds{time}}; }

RequestSpan sync_span(int begin, int end, std::uint32_t thread = 1) {
  return {.begin = at(begin), .end = at(end), .thread = thread};
}

TEST(SelfTimes, OfNestedCallsAreWithoutTheirCallees) {
  const RequestTrace request{
      .spans = {sync_span(0, 100), sync_span(10, 40), sync_span(20, 30), sync_span(50, 60)}};
  EXPECT_THAT(self_times(request),
              ElementsAre(nanoseconds{60}, nanoseconds{20}, nanoseconds{10}, nanoseconds{10}));
}

TEST(SelfTimes, OfAnAsyncMethodAreThoseOfItsSteps) {
  auto parent = sync_span(0, 100);
  parent.is_async = true;
  parent.steps = {{at(0), at(10), 1}, {at(90), at(100), 2}};
  // Called in the first step; what it does on thread 2 ends before the parent goes on.
  const RequestTrace request{.spans = {parent, sync_span(2, 6), sync_span(40, 50, 2)}};
  EXPECT_THAT(self_times(request), ElementsAre(nanoseconds{16}, nanoseconds{4}, nanoseconds{10}));
}

TEST(SelfTimes, OfAContinuationThatRunsInsideItsCalleeAreItsOwn) {
  auto parent = sync_span(0, 100), child = sync_span(0, 80);
  parent.is_async = child.is_async = true;
  child.steps = {{at(50), at(80), 1}};
  parent.steps = {{at(60), at(75), 1}};  // resumed by the child's last step
  EXPECT_THAT(self_times({.spans = {parent, child}}),
              ElementsAre(nanoseconds{15}, nanoseconds{15}));
}

TEST(SelfTimes, NeverExceedTheTimeThatPassedOnAThread) {
  const RequestTrace request{.spans = {sync_span(0, 50), sync_span(30, 90), sync_span(40, 60)}};
  nanoseconds sum{};
  for (const auto one : self_times(request)) sum += one;
  EXPECT_EQ(sum, nanoseconds{90});
}

}  // namespace
}  // namespace clrscope::uplink
