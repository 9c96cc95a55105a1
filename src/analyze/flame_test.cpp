#include "analyze/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMain = 0x1010;
constexpr std::uint64_t kWork = 0x2010;
constexpr std::uint64_t kRest = 0x3010;

class FlameTest : public testing::Test {
 protected:
  void names() {
    trace_.method(kRundownName, 144, {.time = 90'000'000}, 0x1000, 0x100, "App", "Main");
    trace_.method(kRundownName, 144, {.time = 90'000'000}, 0x2000, 0x100, "App", "Work");
    trace_.method(kRundownName, 144, {.time = 90'000'000}, 0x3000, 0x100, "App", "Rest");
  }
  FlameGraph graph(std::size_t most_nodes = FlameBuilder::kMaxNodes) {
    names();
    FlameBuilder builder{most_nodes};
    trace_.read_into(builder);
    return std::move(builder).finish();
  }
  // "App.Main() > App.Work()", of every node but the root.
  static std::vector<std::string> paths(const FlameGraph& graph) {
    std::vector<std::string> all{""};
    for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
      const auto& before = all[graph.nodes[i].parent];
      all.push_back(before + (before.empty() ? "" : " > ") +
                    graph.names[graph.nodes[i].name].method);
    }
    all.erase(all.begin());
    return all;
  }
  static std::uint64_t on(const FlameGraph& graph) {
    std::uint64_t sum = 0;
    for (const auto& row : graph.rows) sum += row.on_us;
    return sum;
  }
  static std::uint64_t off(const FlameGraph& graph) {
    std::uint64_t sum = 0;
    for (const auto& row : graph.rows) sum += row.off_us;
    return sum;
  }
  TestTrace trace_;
};

TEST_F(FlameTest, PutsLevelsInOrderAndTheHeaviestSiblingFirst) {
  trace_.universal("cpu", {.time = 1}, 1, {kRest, kMain});
  trace_.universal("cpu", {.time = 2}, 1, {kWork, kMain});
  trace_.universal("cpu", {.time = 3}, 1, {kWork, kMain});
  trace_.universal("cpu", {.time = 4}, 1, {kRest, kWork, kMain});
  const auto got = graph();
  EXPECT_THAT(paths(got), testing::ElementsAre("App.Main()", "App.Main() > App.Work()",
                                               "App.Main() > App.Rest()",
                                               "App.Main() > App.Work() > App.Rest()"));
  EXPECT_EQ(got.samples, 4U);
}

TEST_F(FlameTest, KeepsThreadsApartInTheRows) {
  trace_.universal("cpu", {.time = 1, .thread = 7}, 1, {kWork, kMain});
  trace_.universal("cpu", {.time = 2, .thread = 8}, 1, {kWork, kMain});
  trace_.universal("cpu", {.time = 3, .thread = 8}, 1, {kWork, kMain});
  const auto got = graph();
  ASSERT_EQ(got.nodes.size(), 3U);
  ASSERT_EQ(got.rows.size(), 2U);
  EXPECT_EQ(got.rows[0].samples + got.rows[1].samples, 3U);
  EXPECT_EQ(got.threads.size(), 2U);
}

RequestTrace request(std::string route, std::vector<RunningPart> parts) {
  return {.method = "GET", .route = std::move(route), .sampled = true, .parts = std::move(parts)};
}

TEST_F(FlameTest, KeepsTheCpuSamplesOfOneRouteByThreadAndTime) {
  const auto at = [](std::int64_t ns) { return TraceTime{std::chrono::nanoseconds{ns}}; };
  RequestParts parts{"GET /a"};
  parts.add(request("/a", {{.begin = at(10), .end = at(20), .thread = 7},
                           {.begin = at(10), .end = at(12), .thread = 8}}));
  parts.add(request("/b", {{.begin = at(30), .end = at(40), .thread = 7}}));
  parts.add(request("/a", {{.begin = at(50), .end = at(60), .thread = 7}}));
  parts.finish();
  trace_.universal("cpu", {.time = 15, .thread = 7}, 1000, {kWork, kMain});
  trace_.universal("cpu", {.time = 15, .thread = 8}, 1000, {kRest, kMain});
  trace_.universal("cpu", {.time = 25, .thread = 7}, 1000, {kRest, kMain});
  trace_.universal("cpu", {.time = 35, .thread = 7}, 1000, {kRest, kMain});
  trace_.universal("cpu", {.time = 55, .thread = 7}, 1000, {kWork, kMain});
  trace_.universal("cpu", {.time = 55, .thread = 9}, 1000, {kRest, kMain});
  trace_.universal("cswitch", {.time = 56, .thread = 7}, 5000, {kRest, kMain});
  names();
  FlameBuilder builder{FlameBuilder::kMaxNodes,
                       [&](ThreadId thread, TraceTime time) { return parts.take(thread, time); }};
  trace_.read_into(builder);
  const auto got = std::move(builder).finish();
  EXPECT_THAT(paths(got), testing::ElementsAre("App.Main()", "App.Main() > App.Work()"));
  EXPECT_EQ(got.samples, 2U);
  EXPECT_EQ(off(got), 0U);
  const auto& seen = parts.seen();
  EXPECT_EQ(seen.requests, 2U);
  EXPECT_EQ(seen.samples, 2U);
  EXPECT_EQ(seen.other, 1U);
  EXPECT_EQ(seen.outside, 3U);
}

TEST_F(FlameTest, CountsTheKernelsSwitchesAsWaiting) {
  trace_.universal("cswitch", {.time = 5'000'000}, 3'000'000, {kWork, kMain});
  trace_.universal("cpu", {.time = 6'000'000}, 1, {kMain});
  const auto got = graph();
  EXPECT_EQ(off(got), 3000U);
  EXPECT_EQ(got.waits, 1U);
  EXPECT_EQ(got.samples, 1U);
  EXPECT_EQ(got.off_from, FlameGraph::Teller::kKernel);
}

TEST_F(FlameTest, TellsRunningFromWaitingByTheRuntimesSampler) {
  trace_.sample({.time = 0}, {kWork, kMain}, 2);
  trace_.sample({.time = 1'000'000}, {kRest, kMain}, 1);
  trace_.sample({.time = 2'000'000}, {kRest, kMain}, 1);
  const auto got = graph();
  EXPECT_EQ(on(got), 1000U);
  EXPECT_EQ(off(got), 2000U);
  EXPECT_EQ(got.on_from, FlameGraph::Teller::kRuntime);
}

TEST_F(FlameTest, CountsNoTimeTwiceWhereBothSampled) {
  trace_.sample({.time = 0}, {kWork, kMain}, 2);
  trace_.sample({.time = 1'000'000}, {kWork, kMain}, 2);
  trace_.sample({.time = 2'000'000}, {kRest, kMain}, 1);
  trace_.universal("cpu", {.time = 500'000}, 1, {kWork, kMain});
  const auto got = graph();
  EXPECT_EQ(got.samples, 1U);  // the kernel's
  EXPECT_EQ(got.waits, 1U);    // the runtime's
  EXPECT_EQ(got.on_from, FlameGraph::Teller::kKernel);
  EXPECT_EQ(got.off_from, FlameGraph::Teller::kRuntime);
}

TEST_F(FlameTest, LeavesIdleProcessorsOutAndCountsWhatHasNoStack) {
  trace_.universal("cpu", {.time = 1, .thread = 0, .process = 0}, 1, {0xffffffff81000100});
  trace_.universal("cpu", {.time = 2}, 1, {});
  const auto got = graph();
  EXPECT_EQ(got.idle, 1U);
  EXPECT_EQ(got.samples, 1U);
  EXPECT_EQ(got.without_stack, 1U);
  EXPECT_EQ(got.nodes.size(), 1U);
}

TEST_F(FlameTest, FoldsTheSmallestIntoTheirParentsAndLosesNoTime) {
  for (int i = 0; i < 8; ++i) trace_.universal("cpu", {.time = i}, 1, {kWork, kMain});
  trace_.universal("cpu", {.time = 9}, 1, {kRest, kMain});
  const auto got = graph(3);
  EXPECT_EQ(got.nodes.size(), 3U);
  EXPECT_EQ(got.folded, 1U);
  EXPECT_EQ(on(got), 9000U);
}

TEST_F(FlameTest, AnEmptyTraceIsARootWithoutTime) {
  const auto got = graph();
  EXPECT_EQ(got.nodes.size(), 1U);
  EXPECT_TRUE(got.rows.empty());
  EXPECT_EQ(got.on_from, FlameGraph::Teller::kNobody);
}

TEST_F(FlameTest, JsonIsFlatAndHarmlessInAScript) {
  trace_.method(kRundownName, 144, {.time = 90'000'000}, 0x4000, 0x100, "</script><script>alert(1)",
                "Evil");
  trace_.universal("cpu", {.time = 1}, 1, {0x4010, kMain});
  auto answer = flame_answer(graph(), "shop <b>");
  answer.broken_stacks = 3;
  JsonWriter writer;
  write_json(writer, answer);
  const auto& json = writer.text();
  EXPECT_THAT(json, Not(HasSubstr("</script")));
  EXPECT_THAT(json, Not(HasSubstr("<b>")));
  EXPECT_THAT(json, HasSubstr("\"brokenStacks\":3,"));
  EXPECT_THAT(json, HasSubstr("\"nodeParent\":[0,0,1]"));
  EXPECT_THAT(json, HasSubstr("\"rowSamples\":[1]"));
}

}  // namespace
}  // namespace clrscope::analyze
