#include "collect/agent/request_assembler.h"

#include <gmock/gmock.h>

#include "collect/agent/request_records.h"

namespace clrscope::collect {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::uint32_t kFirstStep = wire::kSpanAsync | wire::kSpanFirst | wire::kSpanSuspended;
constexpr std::uint32_t kStep = wire::kSpanAsync | wire::kSpanSuspended;
constexpr std::uint32_t kLastStep = wire::kSpanAsync;
constexpr std::uint64_t kRoot = 900;

// A tick is a nanosecond, and both clocks begin at 0.
const TickClock kTickClock{{0, 0}, {1000, 1000}};

TraceTime at(std::int64_t ns) { return TraceTime{nanoseconds{ns}}; }

struct Assembly {
  RequestAssembler assembler;

  explicit Assembly(AssemblerLimits limits = {})
      : assembler([](std::uint32_t counter) { return counter < 9 ? name(counter) : ""; }, limits) {}
  static std::string name(std::uint32_t counter) {
    return counter == 3 ? "Shop.Orders+<PlaceAsync>d__3.MoveNext"
                        : "Shop.Method" + std::to_string(counter);
  }

  void take(const MadeRecord& record) { assembler.take(record.bytes(), record.size()); }
  std::vector<RequestTrace> finish() {
    assembler.end_round(at(0));
    assembler.finish();
    auto batch = assembler.hand_over(kTickClock);
    methods = batch.methods;
    return std::move(batch.requests);
  }
  std::vector<std::string> methods{};
};

TEST(RequestAssembler, JoinsARequestWithItsSpans) {
  Assembly all;
  all.take(begin_record(100, kRoot));
  all.take(span_record({.begin = 120, .end = 130, .span = 2, .parent = 1, .method = 2}));
  all.take(span_record({.begin = 110, .end = 190, .span = 1, .parent = kRoot, .method = 1}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot, .status = 500, .error = "E"}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  const auto& request = requests[0];
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.route, "/orders/{id}");
  EXPECT_EQ(request.path, "/orders/17");
  EXPECT_EQ(request.error, "E");
  EXPECT_EQ(request.status, 500);
  EXPECT_TRUE(request.sampled);
  EXPECT_EQ(request.begin, at(100));
  EXPECT_EQ(request.end, at(200));
  EXPECT_EQ(request.trace_id[0], 0xab);
  EXPECT_EQ(request.bytes_out, 11U);
  ASSERT_THAT(request.spans, SizeIs(2));
  EXPECT_EQ(request.spans[0].id, 1U);
  EXPECT_EQ(request.spans[0].parent, 0U);
  EXPECT_EQ(request.spans[1].parent, 1U);
  EXPECT_EQ(request.spans[1].begin, at(120));
  EXPECT_EQ(all.methods[request.spans[1].method], "Shop.Method2");
  EXPECT_EQ(request.spans_lost, 0U);
}

TEST(RequestAssembler, ChainsTheStepsOfAnAsyncMethodInAnyOrder) {
  Assembly all;
  all.take(span_record(
      {.begin = 180, .end = 190, .span = 1, .method = 3, .flags = kLastStep, .thread = 7}));
  all.take(queued_record(170, 1));
  all.take(span_record({.begin = 110,
                        .end = 120,
                        .span = 1,
                        .parent = kRoot,
                        .method = 3,
                        .flags = kFirstStep,
                        .thread = 5}));
  all.take(
      span_record({.begin = 140, .end = 150, .span = 1, .method = 3, .flags = kStep, .thread = 6}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  ASSERT_THAT(requests[0].spans, SizeIs(1));
  const auto& span = requests[0].spans[0];
  EXPECT_TRUE(span.is_async);
  EXPECT_EQ(span.outcome, SpanOutcome::kReturned);
  EXPECT_EQ(span.begin, at(110));
  EXPECT_EQ(span.end, at(190));
  EXPECT_EQ(span.thread, 5U);
  EXPECT_EQ(span.queued, nanoseconds{10});
  EXPECT_EQ(all.methods[span.method], "Shop.Orders.PlaceAsync");
  ASSERT_THAT(span.steps, SizeIs(3));
  EXPECT_EQ(span.steps[1].begin, at(140));
  EXPECT_EQ(span.steps[2].thread, 7U);
  EXPECT_EQ(requests[0].running, nanoseconds{30});  // no flows: from the steps
  EXPECT_EQ(requests[0].waiting, nanoseconds{70});
  EXPECT_EQ(requests[0].queued, nanoseconds{10});
}

TEST(RequestAssembler, MeasuresRunningWaitingAndQueuedByThreads) {
  Assembly all;
  all.take(flow_record(100, 120, 1));
  all.take(flow_record(110, 130, 1));  // overlaps on one thread: counts once
  all.take(flow_record(120, 130, 2));  // in parallel
  all.take(flow_record(160, 170, 2));
  all.take(flow_record(190, 260, 3));  // beyond the end
  all.take(
      span_record({.begin = 100, .end = 105, .span = 1, .parent = kRoot, .flags = kFirstStep}));
  all.take(span_record({.begin = 160, .end = 165, .span = 1, .flags = kLastStep}));
  all.take(queued_record(128, 1));  // while threads of the request were still working
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].running, nanoseconds{30 + 10 + 10 + 10});
  EXPECT_EQ(requests[0].waiting, nanoseconds{30 + 20});
  EXPECT_EQ(requests[0].queued, nanoseconds{30});
  ASSERT_THAT(requests[0].parts, SizeIs(4));
  EXPECT_EQ(requests[0].parts[0].end, at(130));
  EXPECT_EQ(requests[0].parts[3].end, at(260));
}

TEST(RequestAssembler, WaitsForRecordsOfOtherRingsAfterTheEnd) {
  Assembly all{{.grace = nanoseconds{1000}}};
  auto& assembler = all.assembler;
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  assembler.end_round(at(5000));
  EXPECT_THAT(assembler.hand_over(kTickClock).requests, SizeIs(0));
  all.take(span_record({.begin = 150, .end = 250, .span = 1, .parent = kRoot}));
  assembler.end_round(at(9000));
  EXPECT_THAT(assembler.hand_over(kTickClock).requests, SizeIs(0)) << "one round is not enough";
  assembler.end_round(at(9000));
  const auto batch = assembler.hand_over(kTickClock);
  ASSERT_THAT(batch.requests, SizeIs(1));
  EXPECT_THAT(batch.requests[0].spans, SizeIs(1));
  all.take(span_record({.begin = 150, .end = 9500, .span = 2, .parent = kRoot}));
  EXPECT_EQ(assembler.losses().late, 1U);
  EXPECT_EQ(assembler.in_flight(), 0U);
}

TEST(RequestAssembler, KeepsARequestUntilItsGraceIsOver) {
  Assembly all{{.grace = nanoseconds{1000}}};
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  for (int round = 0; round < 5; ++round) all.assembler.end_round(at(5000));
  EXPECT_THAT(all.assembler.hand_over(kTickClock).requests, SizeIs(0));
  all.assembler.end_round(at(6000));
  EXPECT_THAT(all.assembler.hand_over(kTickClock).requests, SizeIs(1));
}

// Rounds until `now`, as those of a listener: none of them finds a record.
std::vector<RequestTrace> look(Assembly& all, std::int64_t now) {
  for (int round = 0; round < 3; ++round) all.assembler.end_round(at(now));
  return all.assembler.hand_over(kTickClock).requests;
}

TEST(RequestAssembler, WaitsForAnAsyncMethodThatGoesOnBehindTheRequest) {
  Assembly all{{.grace = nanoseconds{1000}, .work_behind = nanoseconds{100'000}}};
  all.take(
      span_record({.begin = 110, .end = 120, .span = 1, .parent = kRoot, .flags = kFirstStep}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  all.assembler.end_round(at(500));
  EXPECT_THAT(look(all, 50'000), SizeIs(0));
  // Another request is not held up by it.
  all.take(end_record({.begin = 100, .end = 200, .root = 7, .request = 2}));
  all.assembler.end_round(at(50'000));
  EXPECT_THAT(look(all, 60'000), SizeIs(1));
  all.take(span_record({.begin = 61'000, .end = 61'500, .span = 1, .flags = kLastStep}));
  const auto requests = look(all, 70'000);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].end, at(200));
  EXPECT_EQ(requests[0].waiting, nanoseconds{90});
  ASSERT_THAT(requests[0].spans, SizeIs(1));
  EXPECT_EQ(requests[0].spans[0].end, at(61'500));
  EXPECT_EQ(requests[0].spans[0].outcome, SpanOutcome::kReturned);
  EXPECT_EQ(all.assembler.losses().late, 0U);
}

TEST(RequestAssembler, WaitsForAThreadThatGoesOnBehindTheRequest) {
  constexpr std::int64_t kMs = 1'000'000;
  Assembly all;
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  all.take(goes_on_record(150, 5));
  all.assembler.end_round(at(0));
  EXPECT_THAT(look(all, 300 * kMs), SizeIs(0));
  all.take(goes_on_record(400 * kMs, 5));
  EXPECT_THAT(look(all, 1200 * kMs), SizeIs(0));
  all.take(span_record(
      {.begin = 150, .end = 1300U * kMs, .span = 1, .parent = kRoot, .method = 2, .thread = 5}));
  all.take(flow_record(140, 1300U * kMs, 5));
  const auto requests = look(all, 1350 * kMs);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_THAT(requests[0].spans, SizeIs(1));
  EXPECT_THAT(requests[0].parts, SizeIs(1));
  // One of a request that is gone says nothing, and is no loss.
  all.take(goes_on_record(1400U * kMs, 5));
  EXPECT_EQ(all.assembler.losses().late, 0U);
  EXPECT_EQ(all.assembler.in_flight(), 0U);
}

TEST(RequestAssembler, WaitsNoLongerForWorkBehindARequestThanItsLimitsSay) {
  Assembly all{{.requests = 4, .grace = nanoseconds{10}, .work_behind = nanoseconds{1000}}};
  const auto begin = [&](std::uint32_t number) {
    all.take(span_record({.begin = 110,
                          .end = 120,
                          .span = number,
                          .parent = kRoot,
                          .flags = kFirstStep,
                          .request = number}));
    all.take(end_record({.begin = 100, .end = 200, .root = kRoot, .request = number}));
    all.assembler.end_round(at(0));
  };
  begin(1);
  EXPECT_THAT(look(all, 999), SizeIs(0));
  const auto requests = look(all, 1000);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].spans[0].outcome, SpanOutcome::kOpen);
  // With more than half of the room taken it does not wait.
  for (std::uint32_t number = 2; number < 5; ++number) begin(number);
  EXPECT_THAT(look(all, 1010), SizeIs(3));
  EXPECT_EQ(all.assembler.losses().requests, 0U);
}

TEST(RequestAssembler, HangsSpansWithoutAParentOnTheRequest) {
  Assembly all;
  all.take(span_record({.begin = 110, .end = 120, .span = 1, .parent = 77}));
  all.take(
      span_record({.begin = 130, .end = 140, .span = 2, .flags = kLastStep}));  // no first step
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  ASSERT_THAT(requests[0].spans, SizeIs(2));
  EXPECT_EQ(requests[0].spans[0].parent, 0U);
  EXPECT_EQ(requests[0].spans[1].parent, 0U);
  EXPECT_EQ(requests[0].spans_lost, 2U);
  EXPECT_EQ(all.assembler.losses().orphans, 2U);
}

TEST(RequestAssembler, CutsCircles) {
  Assembly all;
  all.take(span_record({.begin = 110, .end = 120, .span = 1, .parent = 2}));
  all.take(span_record({.begin = 111, .end = 120, .span = 2, .parent = 3}));
  all.take(span_record({.begin = 112, .end = 120, .span = 3, .parent = 1}));
  all.take(span_record({.begin = 113, .end = 120, .span = 4, .parent = 4}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  std::unordered_set<std::uint64_t> known{0};
  for (const auto& span : requests[0].spans) {
    EXPECT_TRUE(known.contains(span.parent)) << "a parent comes before its children";
    known.insert(span.id);
  }
  EXPECT_THAT(requests[0].spans, SizeIs(4));
}

TEST(RequestAssembler, LeavesAnAsyncMethodThatHasNotEndedOpen) {
  Assembly all;
  all.take(
      span_record({.begin = 110, .end = 120, .span = 1, .parent = kRoot, .flags = kFirstStep}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].spans[0].outcome, SpanOutcome::kOpen);
  EXPECT_EQ(requests[0].spans[0].end, at(200));
}

TEST(RequestAssembler, GivesRequestsThatWereNotSampledAtOnce) {
  Assembly all;
  all.take(end_record({.begin = 100, .end = 200, .root = 0, .request = 0}));
  all.assembler.end_round(at(300));
  const auto batch = all.assembler.hand_over(kTickClock);
  ASSERT_THAT(batch.requests, SizeIs(1));
  EXPECT_FALSE(batch.requests[0].sampled);
}

TEST(RequestAssembler, CountsWhatIsBeyondItsLimits) {
  Assembly all{{.requests = 2, .records_per_request = 3}};
  for (std::uint64_t i = 1; i <= 5; ++i)
    all.take(span_record({.begin = 110, .end = 120, .span = i, .parent = kRoot}));
  EXPECT_EQ(all.assembler.losses().spans, 2U);
  all.take(begin_record(100, kRoot, 2));
  all.take(begin_record(100, kRoot, 3));  // one too many
  EXPECT_EQ(all.assembler.in_flight(), 2U);
  EXPECT_EQ(all.assembler.losses().requests, 1U);
}

TEST(RequestAssembler, SaysHowManySpansOfARequestAreLost) {
  Assembly all{{.records_per_request = 1}};
  for (std::uint64_t i = 1; i <= 4; ++i)
    all.take(span_record({.begin = 110, .end = 120, .span = i, .parent = kRoot}));
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_THAT(requests[0].spans, SizeIs(1));
  EXPECT_GE(requests[0].spans_lost, 3U);
}

TEST(RequestAssembler, CountsDamagedRecordsAndGoesOn) {
  Assembly all;
  const std::uint64_t nothing[16]{};
  all.assembler.take(nothing, 8);
  all.assembler.take(nothing, 64);
  all.take(span_record({.begin = 120, .end = 110, .span = 1, .parent = kRoot}));
  all.take(span_record({.begin = 110, .end = 120, .span = 0, .parent = kRoot}));
  all.take(span_record({.begin = 110, .end = 120, .span = 1, .request = 0}));
  auto cut = end_record({.begin = 100, .end = 200, .root = kRoot});
  cut.words.pop_back();
  all.take(cut);
  EXPECT_EQ(all.assembler.losses().damaged, 6U);
  all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
  EXPECT_THAT(all.finish(), SizeIs(1));
}

TEST(RequestAssembler, ToleratesAnyTime) {
  Assembly all;
  constexpr auto kLast = ~std::uint64_t{0};
  for (std::uint32_t thread = 0; thread < 9; ++thread) all.take(flow_record(0, kLast, thread));
  all.take(
      span_record({.begin = 0, .end = kLast, .span = 1, .parent = kRoot, .flags = kFirstStep}));
  all.take(span_record({.begin = kLast, .end = kLast, .span = 1, .flags = kLastStep}));
  all.take(queued_record(kLast, 1));
  all.take(end_record({.begin = 0, .end = kLast, .root = kRoot}));
  const auto requests = all.finish();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_GT(requests[0].running.count(), 0);
  EXPECT_EQ(requests[0].waiting.count(), 0);
}

TEST(RequestAssembler, WritesNoNameTwiceAfterARestart) {
  Assembly all;
  const auto next = [&](std::uint32_t method) {
    all.take(span_record({.begin = 110, .end = 120, .span = 1, .parent = kRoot, .method = method}));
    all.take(end_record({.begin = 100, .end = 200, .root = kRoot}));
    const auto requests = all.finish();
    EXPECT_THAT(requests, SizeIs(1));
    all.assembler.restart();
    return all.methods.at(requests.at(0).spans.at(0).method);
  };
  EXPECT_EQ(next(1), "Shop.Method1");
  EXPECT_EQ(next(2), "Shop.Method2");
  EXPECT_EQ(next(1), "Shop.Method1");
  EXPECT_THAT(all.methods, ElementsAre("Shop.Method1", "Shop.Method2"));
}

TEST(TickClock, FollowsBothPairs) {
  const TickClock clock{{1000, 500}, {3000, 1500}};
  EXPECT_EQ(clock.time_of(2000), at(1000));
  EXPECT_EQ(clock.time_of(0), at(0));
  EXPECT_EQ(clock.duration_of(100), nanoseconds{50});
  EXPECT_FALSE(TickClock{});
  EXPECT_FALSE((TickClock{{5, 5}, {5, 5}}));
}

}  // namespace
}  // namespace clrscope::collect
