#include "collect/machine/universal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nettrace/payload.h"
#include "nettrace/payload_text.h"
#include "nettrace/reader.h"

namespace clrscope::collect {
namespace {

constexpr TraceTime at(std::int64_t ns) { return TraceTime{std::chrono::nanoseconds{ns}}; }

std::vector<std::uint8_t> written(const std::function<void(UniversalWriter&)>& use) {
  std::vector<std::uint8_t> trace;
  nettrace::TraceInfo info{.version = 6, .sync_ticks = 1000, .ticks_per_second = 1'000'000'000};
  nettrace::Writer writer{info, [&](Bytes bytes) -> Result<> {
                            trace.insert(trace.end(), bytes.begin(), bytes.end());
                            return {};
                          }};
  UniversalWriter universal{writer};
  use(universal);
  EXPECT_TRUE(writer.finish());
  return trace;
}

struct Line {
  std::int64_t ticks = 0;
  std::string text{};
  std::vector<std::uint64_t> stack{};
};

std::vector<Line> lines_of(Bytes trace, std::uint64_t& lost) {
  std::vector<Line> lines;
  nettrace::Reader reader;
  nettrace::PayloadPlans plans{8};
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) {
      Line line{
          .ticks = event.ticks,
          .text = event.type->name + " " + std::to_string(static_cast<int>(event.process)) + " "};
      nettrace::append_text(line.text, plans.of(event), event.payload);
      reader.stack(event.stack).copy_to(line.stack);
      lines.push_back(std::move(line));
    }
  };
  EXPECT_TRUE(reader.feed(trace, on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  EXPECT_EQ(reader.summary().damaged, 0U);
  std::ranges::stable_sort(lines, {}, &Line::ticks);  // each capture thread comes in one piece
  lost = reader.summary().lost;
  return lines;
}

TEST(UniversalWriter, FindsTheEventThatEndsARecording) {
  (void)written([&](UniversalWriter& out) {
    out.stop_at({.provider = "Universal.Events", .event = "page-faults"});
    ASSERT_TRUE(out.cpu_sample(at(2001), {ProcessId{7}, ThreadId{8}, 1}, 3, {}));
    EXPECT_FALSE(out.stop_found());
    ASSERT_TRUE(out.sample("page-faults", at(2002), {ProcessId{7}, ThreadId{8}, 1}, 2, {}));
    EXPECT_TRUE(out.stop_found());
  });
}

TEST(UniversalWriter, TellsProcessesMappingsSymbolsAndSamples) {
  const std::uint64_t stack[] = {0x401010, 0x402020};
  const auto trace = written([&](UniversalWriter& out) {
    ASSERT_TRUE(out.process_exists(at(2000), ProcessId{7}, "app", ""));
    const auto mapping = out.mapping(at(2001), ProcessId{7},
                                     {0x400000, 0x500000, 0x1000, "/usr/lib/libx.so"}, "ab12");
    ASSERT_TRUE(mapping);
    ASSERT_TRUE(out.symbol(at(2002), ProcessId{7}, *mapping, 0x401000, 0x4010ff, "work"));
    ASSERT_TRUE(out.cpu_sample(at(2003), {ProcessId{7}, ThreadId{8}, 1}, 1001001, stack));
    ASSERT_TRUE(out.process_exited(at(2004), ProcessId{7}));
  });
  std::uint64_t lost = 0;
  const auto lines = lines_of(trace, lost);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lost, 0U);
  EXPECT_NE(lines[0].text.find("ExistingProcess 7"), std::string::npos);
  EXPECT_NE(lines[0].text.find("app"), std::string::npos);
  EXPECT_NE(lines[1].text.find("build_id"), std::string::npos);
  EXPECT_NE(lines[2].text.find("libx.so"), std::string::npos);
  EXPECT_NE(lines[3].text.find("work"), std::string::npos);
  EXPECT_NE(lines[4].text.find("cpu 7 Value="), std::string::npos);
  EXPECT_NE(lines[4].text.find("Period="), std::string::npos) << lines[4].text;
  EXPECT_EQ(lines[4].stack, (std::vector<std::uint64_t>{0x401010, 0x402020}));
  EXPECT_NE(lines[5].text.find("ProcessExit 7"), std::string::npos);
}

TEST(UniversalWriter, KeepsALossVisible) {
  const auto trace = written([&](UniversalWriter& out) {
    ASSERT_TRUE(out.cpu_sample(at(2000), {ProcessId{7}, ThreadId{8}}, 1, {}));
    out.add_lost(5);
    ASSERT_TRUE(out.cpu_sample(at(2001), {ProcessId{7}, ThreadId{8}}, 1, {}));
  });
  std::uint64_t lost = 0;
  EXPECT_EQ(lines_of(trace, lost).size(), 2U);
  EXPECT_EQ(lost, 5U);
}

}  // namespace
}  // namespace clrscope::collect
