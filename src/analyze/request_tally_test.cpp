#include "analyze/request_tally.h"

#include <gmock/gmock.h>

#include "analyze/request_document.h"

namespace clrscope::analyze {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TraceTime at(std::int64_t ms) { return TraceTime{milliseconds{ms}}; }
WallTime wall(TraceTime time) { return WallTime{time.time_since_epoch()}; }

RequestTrace request(std::string route, std::int64_t ms, bool sampled = true) {
  static std::uint8_t number = 0;
  RequestTrace out;
  out.trace_id[0] = ++number;
  out.method = "GET";
  out.route = std::move(route);
  out.path = out.route;
  out.status = 200;
  out.sampled = sampled;
  out.begin = at(1000);
  out.end = at(1000 + ms);
  return out;
}

TEST(RequestTally, TakesPercentilesOfAllRequestsNotOnlyTheSampledOnes) {
  RequestTally tally;
  RequestBatch batch;
  for (int ms = 1; ms <= 100; ++ms) batch.requests.push_back(request("/a", ms, ms == 1));
  tally.add(std::move(batch));
  const auto routes = tally.routes(std::chrono::seconds{10});
  ASSERT_THAT(routes, SizeIs(1));
  EXPECT_EQ(routes[0].count, 100U);
  EXPECT_DOUBLE_EQ(routes[0].per_second, 10);
  EXPECT_NEAR(static_cast<double>(routes[0].p50.count()), 50e6, 50e6 * 0.016);
  EXPECT_NEAR(static_cast<double>(routes[0].p95.count()), 95e6, 95e6 * 0.016);
  EXPECT_NEAR(static_cast<double>(routes[0].p99.count()), 99e6, 99e6 * 0.016);
  EXPECT_EQ(routes[0].max, milliseconds{100});
  EXPECT_EQ(routes[0].sampled, 1U);
  EXPECT_DOUBLE_EQ(routes[0].sampled_percent, 1);
}

TEST(RequestTally, KeepsTheSlowestTheFailedAndSomeOthersOfEachRoute) {
  RequestTally tally{{}, {.slowest = 2, .failed = 1, .others = 3}};
  RequestBatch batch;
  for (int ms = 1; ms <= 50; ++ms) batch.requests.push_back(request("/a", ms));
  for (const auto status : {500, 503}) {
    batch.requests.push_back(request("/a", 1));
    batch.requests.back().status = static_cast<std::uint16_t>(status);
  }
  batch.requests.push_back(request("/b", 7));
  tally.add(std::move(batch));
  const auto kept = tally.requests(wall);
  ASSERT_THAT(kept, SizeIs(2 + 1 + 3 + 1));
  EXPECT_EQ(kept[0].duration, milliseconds{50});
  EXPECT_EQ(kept[1].duration, milliseconds{49});
  EXPECT_THAT(kept, testing::Contains(testing::Field(&ProfiledRequest::status, 503)));
  EXPECT_THAT(kept, testing::Contains(testing::Field(&ProfiledRequest::route, "/b")));
  EXPECT_EQ(tally.not_kept(), 53U - 7U);
  const auto routes = tally.routes(std::chrono::seconds{1});
  EXPECT_EQ(routes[0].errors, 2U);
}

TEST(RequestTally, KeepsARequestThatIsWanted) {
  RequestTally tally{"ee", {.slowest = 1, .failed = 0, .others = 0}};
  RequestBatch batch;
  batch.requests.push_back(request("/a", 1));
  batch.requests.back().trace_id[0] = 0xee;
  for (int i = 0; i < 20; ++i) {
    batch.requests.push_back(request("/a", 5));
    batch.requests.back().trace_id[0] = 1;
  }
  tally.add(std::move(batch));
  RequestProfile profile;
  profile.requests = tally.requests(wall);
  ASSERT_NE(find_request(profile, "ee"), nullptr);
  EXPECT_EQ(find_request(profile, "ee")->duration, milliseconds{1});
  EXPECT_EQ(find_request(profile, "ff"), nullptr);
  EXPECT_EQ(find_request(profile, ""), nullptr);
}

TEST(RequestTally, BoundsRoutesAndSpans) {
  RequestTally tally{{}, {.routes = 3, .spans = 10}};
  RequestBatch batch;
  for (int i = 0; i < 20; ++i) {
    batch.requests.push_back(request("/" + std::to_string(i), 1));
    batch.requests.back().spans.resize(4);
  }
  tally.add(std::move(batch));
  const auto routes = tally.routes(std::chrono::seconds{1});
  ASSERT_THAT(routes, SizeIs(4));
  EXPECT_EQ(routes[0].route, "(other routes)");
  EXPECT_EQ(routes[0].count, 17U);
  EXPECT_THAT(tally.requests(wall), SizeIs(2));
  EXPECT_EQ(tally.not_kept(), 18U);
}

// PlaceAsync waits 60 ms for SaveAsync, which itself waits 50 ms, 10 of them for a thread.
RequestTrace placed() {
  auto out = request("/orders/{id}", 100);
  out.path = "/orders/17";
  out.running = milliseconds{40};
  out.waiting = milliseconds{60};
  out.queued = milliseconds{10};
  const auto part = [](std::int64_t from, std::int64_t to, int queued = 0) {
    return RunningPart{at(from), at(to), 5, milliseconds{queued}};
  };
  out.spans.push_back({.id = 71,
                       .parent = 0,
                       .method = 0,
                       .is_async = true,
                       .begin = at(1000),
                       .end = at(1100),
                       .steps = {part(1000, 1030), part(1090, 1100)},
                       .thread = 5});
  out.spans.push_back({.id = 99,
                       .parent = 71,
                       .method = 1,
                       .is_async = true,
                       .outcome = SpanOutcome::kFaulted,
                       .begin = at(1020),
                       .end = at(1090),
                       .queued = milliseconds{10},
                       .steps = {part(1020, 1030), part(1080, 1090, 10)},
                       .thread = 5});
  out.parts = {part(1000, 1030), part(1080, 1100)};
  return out;
}

ProfiledRequest placed_answer() {
  RequestTally tally;
  tally.add({.methods = {"Shop.PlaceAsync", "Shop.SaveAsync"}, .requests = {placed()}});
  return tally.requests(wall).at(0);
}

TEST(RequestAnswer, NumbersSpansAndMeasuresThem) {
  const auto answer = placed_answer();
  ASSERT_THAT(answer.spans, SizeIs(2));
  EXPECT_EQ(answer.spans[0].id, 1U);
  EXPECT_EQ(answer.spans[1].parent, 1U);
  EXPECT_EQ(answer.spans[1].method, "Shop.SaveAsync");
  EXPECT_EQ(answer.spans[1].start, milliseconds{20});
  EXPECT_EQ(answer.spans[1].running, milliseconds{20});
  EXPECT_EQ(answer.spans[1].waiting, milliseconds{50});
  EXPECT_EQ(answer.spans[1].queued, milliseconds{10});
  EXPECT_EQ(answer.parts[1].start, milliseconds{80});
  EXPECT_EQ(answer.started, wall(at(1000)));
  const auto json = json_text(answer);
  EXPECT_THAT(json, HasSubstr(R"("outcome":"faulted")"));
  EXPECT_THAT(json, HasSubstr(R"("durationMs":100)"));
  EXPECT_THAT(json, testing::Not(HasSubstr("bytesIn")));
}

std::vector<std::string> lines_of(const Document& page) {
  std::vector<std::string> out;
  for (const auto& block : page.blocks)
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) out.push_back(paragraph->text);
  return out;
}

TEST(RequestDocument, DrawsRunningWaitingAndQueuedTime) {
  const auto lines = lines_of(request_document(placed_answer(), WaterfallStyle::kAscii));
  ASSERT_THAT(lines, SizeIs(testing::Ge(6)));
  EXPECT_THAT(lines[1], HasSubstr("############....................########"));
  EXPECT_THAT(lines[2], HasSubstr("  Shop.PlaceAsync"));
  EXPECT_THAT(lines[2], HasSubstr("############........................####"));
  EXPECT_THAT(lines[3], HasSubstr("    Shop.SaveAsync"));
  EXPECT_THAT(lines[3], HasSubstr("        ####................~~~~####    "));
  EXPECT_THAT(lines[3], HasSubstr("70 ms, faulted, queued 10 ms"));
}

TEST(RequestDocument, LabelsAnAwaitWithTheMethodThatWaited) {
  const auto lines = lines_of(request_document(placed_answer(), WaterfallStyle::kAscii));
  ASSERT_FALSE(lines.empty());
  // The wait of PlaceAsync is that of SaveAsync.
  EXPECT_THAT(lines.back(), HasSubstr("50 ms at +30 ms  await in Shop.SaveAsync  (10 ms of it"));
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr("Longest waits"));
}

TEST(TraceIdText, GoesBothWays) {
  TraceId id{};
  id[0] = 0xab;
  id[15] = 0x01;
  EXPECT_EQ(to_text(id), "ab000000000000000000000000000001");
  EXPECT_EQ(parse_trace_id("AB000000000000000000000000000001"), id);
  EXPECT_FALSE(parse_trace_id("ab"));
  EXPECT_FALSE(parse_trace_id("zb000000000000000000000000000001"));
}

}  // namespace
}  // namespace clrscope::analyze
