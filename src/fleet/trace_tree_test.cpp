#include "fleet/trace_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::fleet {
namespace {

using std::chrono::milliseconds;

WallTime at(int ms) { return WallTime{std::chrono::seconds{1'800'000'000}} + milliseconds{ms}; }

store::OtlpSpan span(const char* id, const char* parent, int from, int to) {
  return {
      .span_id = id, .parent_id = parent, .begin = at(from), .duration = milliseconds{to - from}};
}
store::StoredRequest request(int from, int to) {
  return {.begin = at(from), .duration = milliseconds{to - from}};
}

std::string text_of(const std::vector<TraceLine>& lines) {
  std::string out;
  for (const auto& line : lines)
    out += fmt::format("{}{}<{}{} ", line.kind[0], line.index, line.parent,
                       line.placed_by.empty() ? "" : "(" + line.placed_by + ")");
  return out;
}

TEST(TraceTree, PutsARequestBelowTheCallThatContainsIt) {
  const std::vector spans{span("root", "", 0, 100), span("call", "root", 10, 90),
                          span("deep", "?", 40, 50)};
  const std::vector requests{request(20, 80)};
  const auto lines = trace_tree(requests, spans);
  EXPECT_EQ(text_of(lines), "s0<0 s1<1(spanId) r0<2(time) s2<3(time) ");
  EXPECT_EQ(lines[2].begin, milliseconds{20});
  EXPECT_EQ(lines[2].duration, milliseconds{60});
}

// Took minutes: each step walked the whole chain.
TEST(TraceTree, PlacesManyRequestsInALongChainOfSpans) {
  std::vector<store::OtlpSpan> spans;
  for (int i = 0; i < 10'000; ++i)
    spans.push_back({.span_id = std::to_string(i),
                     .parent_id = i == 0 ? "" : std::to_string(i - 1),
                     .begin = at(0),
                     .duration = milliseconds{10}});
  const std::vector<store::StoredRequest> requests(2000, request(0, 10));
  EXPECT_EQ(trace_tree(requests, spans).size(), 12'000U);
}

TEST(TraceTree, LeavesWhatNothingContainsAlone) {
  EXPECT_EQ(text_of(trace_tree(std::vector{request(200, 300)},
                               std::vector{span("a", "", 0, 100), span("b", "gone", 150, 180)})),
            "s0<0 s1<0 r0<0 ");
}

TEST(TraceTree, SortsChildrenByTheirBegin) {
  EXPECT_EQ(text_of(trace_tree({}, std::vector{span("c", "a", 50, 60), span("b", "a", 10, 20),
                                               span("a", "", 0, 100)})),
            "s2<0 s1<1(spanId) s0<1(spanId) ");
}

TEST(TraceTree, SurvivesCyclesAndEqualIds) {
  const auto lines = trace_tree(std::vector{request(0, 10), request(0, 10)},
                                std::vector{span("a", "b", 0, 10), span("b", "a", 0, 10),
                                            span("c", "c", 0, 10), span("a", "a", 0, 10)});
  EXPECT_EQ(lines.size(), 6U);
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_LE(lines[i].parent, i);
  EXPECT_TRUE(trace_tree({}, {}).empty());
}

}  // namespace
}  // namespace clrscope::fleet
