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

TEST(SpansOfSamples, AreTheInnermostThatRanOnTheThread) {
  RequestTrace request{
      .spans = {sync_span(0, 100), sync_span(10, 40), sync_span(20, 30), sync_span(0, 50, 2)}};
  for (const auto& [time, thread] :
       {std::pair{5, 1}, {25, 1}, {35, 1}, {60, 1}, {60, 2}, {49, 2}, {10, 3}, {100, 1}})
    request.samples.push_back({.time = at(time), .thread = static_cast<std::uint32_t>(thread)});
  EXPECT_THAT(spans_of_samples(request), ElementsAre(1, 3, 2, 1, 0, 4, 0, 0));
}

TEST(SpansOfSamples, OfAnAsyncMethodLieInItsSteps) {
  auto parent = sync_span(0, 100);
  parent.is_async = true;
  parent.steps = {{at(0), at(10), 1}, {at(90), at(100), 2}};
  RequestTrace request{.spans = {parent, sync_span(40, 50, 2)}};
  request.samples = {{.time = at(5), .thread = 1},
                     {.time = at(45), .thread = 2},
                     {.time = at(60), .thread = 1},
                     {.time = at(95), .thread = 2}};
  EXPECT_THAT(spans_of_samples(request), ElementsAre(1, 2, 0, 1));
}

}  // namespace
}  // namespace clrscope::uplink
