#include "analyze/live_times.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

TraceTime at(std::int64_t ns) { return TraceTime{std::chrono::nanoseconds{ns}}; }

constexpr std::uint64_t kUsual = 1'000'000;  // ns, where a trace does not say it

// A trace that is read piece by piece, as a live one is.
class LiveTimesTest : public testing::Test {
 protected:
  void read(TestTrace& trace) {
    const auto on_batch = [&](const nettrace::Batch& batch) { live_.on_batch(reader_, batch); };
    CHECK(reader_.feed(as_bytes(trace.bytes()), on_batch));
    CHECK(reader_.finish(on_batch));
  }
  static const LiveMethod* find(const LiveInterval& interval, std::string_view method) {
    for (const auto& one : interval.methods)
      if (one.frame.method == method) return &one;
    return nullptr;
  }
  nettrace::Reader reader_;
  LiveTimes live_;
};

TEST_F(LiveTimesTest, CountsSelfAndTotalOfAnInterval) {
  TestTrace trace;
  trace.name_thread({.thread = 7}, "worker");
  trace.method(kRuntimeName, 143, {.time = 1}, 0x1000, 0x100, "App", "Leaf");
  trace.method(kRuntimeName, 143, {.time = 2}, 0x2000, 0x100, "App", "Main");
  for (int i = 0; i < 3; ++i)
    trace.universal("cpu", {.time = 10 + i, .thread = 7}, 1, {0x1010, 0x2010});
  trace.universal("cpu", {.time = 20, .thread = 8}, 1, {0x2020});
  read(trace);
  const auto interval = live_.cut(reader_, at(1'000'000'000));
  EXPECT_EQ(interval.samples, 4U);
  ASSERT_TRUE(find(interval, "App.Leaf()"));
  EXPECT_EQ(find(interval, "App.Leaf()")->self, 3 * kUsual);
  EXPECT_EQ(find(interval, "App.Main()")->self, kUsual);
  EXPECT_EQ(find(interval, "App.Main()")->total, 4 * kUsual);
  ASSERT_EQ(interval.threads.size(), 2U);
  EXPECT_EQ(interval.threads[0].name, "worker");
  EXPECT_EQ(interval.threads[0].ns, 3 * kUsual);
  EXPECT_EQ(interval.by_kind[static_cast<std::size_t>(FrameKind::kManaged)], 4 * kUsual);
}

TEST_F(LiveTimesTest, KeepsEachSampleWithItsStackOnDemand) {
  TestTrace trace;
  trace.method(kRuntimeName, 143, {.time = 1}, 0x1000, 0x100, "App", "Leaf");
  trace.method(kRuntimeName, 143, {.time = 2}, 0x2000, 0x100, "App", "Main");
  trace.universal("cpu", {.time = 10, .thread = 7}, 1, {0x1010, 0x2010});
  trace.universal("cpu", {.time = 20, .thread = 8}, 1, {0x2020});
  LiveTimes live{LiveTimes::Keep::kSamples};
  const auto on_batch = [&](const nettrace::Batch& batch) { live.on_batch(reader_, batch); };
  ASSERT_TRUE(reader_.feed(as_bytes(trace.bytes()), on_batch));
  ASSERT_TRUE(reader_.finish(on_batch));
  const auto interval = live.cut(reader_, at(100));
  ASSERT_EQ(interval.taken.size(), 2U);
  const auto name = [&](std::uint32_t stack) {
    return interval.frames[interval.stacks[stack - 1].frame];
  };
  const auto [first, second] = std::pair{interval.taken[0], interval.taken[1]};
  EXPECT_EQ(first.thread, 7U);
  EXPECT_EQ(first.time, at(10));
  EXPECT_EQ(name(first.stack), "App.Leaf()");
  EXPECT_EQ(interval.stacks[first.stack - 1].parent, second.stack);
  EXPECT_EQ(name(second.stack), "App.Main()");
  EXPECT_TRUE(live.cut(reader_, at(200)).taken.empty());
}

TEST_F(LiveTimesTest, ForgetsAnIntervalWithItsEnd) {
  TestTrace trace;
  trace.universal("cpu", {.time = 10}, 1, {0x1010});
  read(trace);
  EXPECT_EQ(live_.cut(reader_, at(100)).samples, 1U);
  const auto next = live_.cut(reader_, at(200));
  EXPECT_EQ(next.samples, 0U);
  EXPECT_TRUE(next.methods.empty());
  EXPECT_EQ(next.from, at(100));
  EXPECT_EQ(next.to, at(200));
}

class LiveNamesTest : public LiveTimesTest {
 protected:
  void sample_without_name() {
    TestTrace trace;
    trace.mapping({.time = 1}, 1, 0x1000, 0x3000, "/memfd:doublemapper (deleted)");
    trace.universal("cpu", {.time = 10}, 1, {0x1010});
    read(trace);
  }
  // Of a session of its own, whose runtime calls itself process 1.
  void name(std::uint64_t start, std::string_view method) {
    TestTrace names;
    names.method(kRundownName, 144, {.time = 50, .process = 1}, start, 0x100, "App", method);
    live_.on_names(as_bytes(names.bytes()), ProcessId{100});
  }
};

TEST_F(LiveNamesTest, SaysWhoseMethodsHaveNoNameYet) {
  sample_without_name();
  EXPECT_EQ(live_.cut(reader_, at(100)).unnamed.at(ProcessId{100}), kUsual);
}

TEST_F(LiveNamesTest, TakesNamesThatComeLater) {
  sample_without_name();
  name(0x2000, "Other");
  name(0x1000, "Leaf");
  const auto interval = live_.cut(reader_, at(100));
  EXPECT_TRUE(find(interval, "App.Leaf()"));
  EXPECT_TRUE(interval.unnamed.empty());
}

TEST_F(LiveTimesTest, LeavesOutWhatTheRuntimesSamplerSawWaiting) {
  TestTrace trace;
  trace.method(kRuntimeName, 143, {.time = 1}, 0x1000, 0x100, "App", "Leaf");
  trace.sample({.time = 10}, {0x1010}, 2);
  trace.sample({.time = 11, .thread = 2}, {0x1010}, 1);
  read(trace);
  EXPECT_EQ(live_.cut(reader_, at(100)).samples, 1U);
}

TEST_F(LiveTimesTest, LeavesOutIdleProcessors) {
  TestTrace trace;
  trace.universal("cpu", {.time = 10, .process = 0}, 1, {0xffffffff81000100});
  read(trace);
  EXPECT_EQ(live_.cut(reader_, at(100)).samples, 0U);
}

TEST_F(LiveTimesTest, CountsTheTimeThatSamplesStandFor) {
  TestTrace trace;
  trace.method(kRuntimeName, 143, {.time = 1}, 0x1000, 0x100, "App", "Leaf");
  trace.cpu_sample({.time = 10}, 750'000, {0x1010});
  trace.cpu_sample({.time = 20}, 1'250'000, {0x1010});
  read(trace);
  const auto interval = live_.cut(reader_, at(100));
  EXPECT_EQ(interval.samples, 2U);
  EXPECT_EQ(interval.ns, 2'000'000U);
  EXPECT_EQ(find(interval, "App.Leaf()")->self, 2'000'000U);
  EXPECT_EQ(interval.threads[0].ns, 2'000'000U);
}

}  // namespace
}  // namespace clrscope::analyze
