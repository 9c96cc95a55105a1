#include "nettrace/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettrace/test_support.h"
#include "nettrace/tick_range.h"

namespace clrscope::nettrace {
namespace {

using ::testing::HasSubstr;

const OnBatch kIgnore = [](const Batch&) {};

class RecordedTrace : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(NettraceReader, RecordedTrace,
                         ::testing::Values("net8-v4.nettrace", "net9-v4.nettrace",
                                           "net10-v4.nettrace", "net10-v3.netperf",
                                           "net10-loss.nettrace.zst"));

TEST_P(RecordedTrace, HoldsWhatTraceEventFindsInIt) {
  const auto trace = trace_file(GetParam());
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  const auto expected = read_text_file(data_path(std::string{GetParam()} + ".expected.txt"));
  EXPECT_EQ(fmt::format("version {}\n", reader.info()->version) + describe(trace), expected);
}

TEST_P(RecordedTrace, IsTheSameInPieces) {
  const auto trace = trace_file(GetParam());
  const auto whole = describe(trace);
  const bool large = trace.size() > 100'000;
  for (const std::size_t piece : {large ? 997U : 1U, 4096U, 65536U})
    EXPECT_EQ(describe(trace, piece), whole) << "in pieces of " << piece;
}

TEST_P(RecordedTrace, IsReadToTheLastWholeEventWhereverItEnds) {
  const auto trace = trace_file(GetParam());
  Reader all;
  ASSERT_TRUE(read_all(all, trace, kIgnore));
  std::uint64_t events = 0;
  const auto step = std::max<std::size_t>(1, trace.size() / (trace.size() > 100000 ? 97 : 2000));
  for (std::size_t size = 0; size < trace.size(); size += step) {
    Reader reader;
    if (!read_all(reader, std::string_view{trace}.substr(0, size), kIgnore)) {
      EXPECT_EQ(reader.info(), nullptr) << "at byte " << size;
      continue;
    }
    EXPECT_TRUE(reader.summary().truncated) << "at byte " << size;
    EXPECT_EQ(reader.summary().damaged, 0U) << "at byte " << size;
    EXPECT_GE(reader.summary().events, events) << "at byte " << size;
    events = reader.summary().events;
  }
  EXPECT_GE(events + 1000, all.summary().events);
  EXPECT_LE(events, all.summary().events);
}

TEST(NettraceReader, SaysWhatTheTraceSaysOfItself) {
  Reader reader;
  ASSERT_TRUE(read_all(reader, V4Builder{}.end(), kIgnore));
  const auto& info = *reader.info();
  EXPECT_EQ(iso8601(info.start), "2026-11-15T03:04:05.678Z");
  EXPECT_EQ(info.process, ProcessId{4312});
  EXPECT_EQ(info.processors, 2U);
  EXPECT_EQ(info.pointer_size, 8U);
  EXPECT_EQ(iso8601(info.wall_of(info.time_of(1'000'001'000))), "2026-11-15T03:04:06.678Z");
}

TEST(NettraceReader, KeepsTheRestAfterATruncatedTail) {
  const auto trace = V4Builder{}.declare(1).event(7, 1, 5000).event(7, 2, 6000).open();
  Reader reader;
  ASSERT_TRUE(read_all(reader, std::string_view{trace}.substr(0, trace.size() - 2), kIgnore));
  EXPECT_EQ(reader.summary().events, 1U);
  EXPECT_TRUE(reader.summary().truncated);
}

TEST(NettraceReader, SkipsADamagedBlockAndReadsTheNext) {
  V4Builder builder;
  builder.declare(1).event(7, 1, 5000);
  const auto damaged_at = builder.size();
  builder.event(7, 2, 6000).event(7, 3, 7000);
  auto trace = builder.end();
  trace[damaged_at + 26] = '\x7f';  // the block's size
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().events, 2U);
  EXPECT_EQ(reader.summary().lost, 1U);
  ASSERT_EQ(reader.damage().size(), 1U);
  EXPECT_EQ(reader.damage()[0].offset, damaged_at);
  EXPECT_TRUE(reader.summary().ended);
}

TEST(NettraceReader, FindsTheBlockAfterADamagedOneInPiecesToo) {
  V4Builder builder;
  builder.declare(1).event(7, 1, 5000);
  const auto damaged_at = builder.size();
  auto trace = builder.event(7, 2, 6000).event(7, 3, 7000).end();
  trace[damaged_at + 26] = '\x7f';
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore, 10));
  EXPECT_EQ(reader.summary().events, 2U);
  EXPECT_TRUE(reader.summary().ended);
}

TEST(NettraceReader, ReadsTheEventsBeforeADamagedRow) {
  ByteWriter rows;
  for (int i = 0; i < 3; ++i) {
    rows.write(std::uint8_t{1});
    rows.write_varuint(1);
    rows.write_varuint(100);
  }
  rows.write(std::uint8_t{0x80});  // a payload larger than the block
  rows.write_varuint(1);
  rows.write_varuint(1000);
  const auto trace = V4Builder{}.declare(1).rows("EventBlock", rows.bytes()).end();
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().events, 3U);
  EXPECT_EQ(reader.summary().damaged, 1U);
  EXPECT_THAT(reader.damage()[0].what, HasSubstr("an event that cannot be read"));
}

TEST(NettraceReader, ReadsOnAfterAByteThatLooksLikeTheEnd) {
  V4Builder builder;
  builder.declare(1).event(7, 1, 5000);
  const auto damaged_at = builder.size();
  auto trace = builder.event(7, 2, 6000).event(7, 3, 7000).end();
  trace[damaged_at] = '\x01';
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().events, 2U);
  EXPECT_GE(reader.summary().damaged, 1U);
}

TEST(NettraceReader, FindsTheBlocksBehindASizeThatReachesPastTheEnd) {
  V4Builder builder;
  builder.declare(1).event(7, 1, 5000);
  const auto damaged_at = builder.size();
  auto trace = builder.event(7, 2, 6000).event(7, 3, 7000).end();
  trace[damaged_at + 28] = '\x40';  // 4 MiB: possible, but not here
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().events, 2U);
  EXPECT_EQ(reader.summary().damaged, 1U);
}

TEST(NettraceReader, LeavesOutEventsOfNoDeclaredType) {
  Reader reader;
  ASSERT_TRUE(read_all(reader, V4Builder{}.event(7, 1, 5000).end(), kIgnore));
  EXPECT_EQ(reader.summary().events, 0U);
  EXPECT_EQ(reader.summary().undefined, 1U);
  EXPECT_EQ(reader.summary().damaged, 1U);
}

TEST(NettraceReader, KnowsAStackUntilTheSequencePoint) {
  const auto trace = V4Builder{}
                         .declare(1)
                         .stack(1, 0x1234)
                         .event(7, 1, 5000, 1)
                         .sequence_point(5500, {{7, 1}})
                         .event(7, 2, 6000, 1)
                         .end();
  Reader reader;
  std::vector<std::size_t> depths;
  ASSERT_TRUE(read_all(reader, trace, [&](const Batch& batch) {
    for (const auto& event : batch.events) depths.push_back(reader.stack(event.stack).size());
  }));
  EXPECT_THAT(depths, ::testing::ElementsAre(1, 0));
}

// One event with the first of two stacks; with one bit of the stack block changed.
Summary read_with_flipped_bit(std::size_t byte, int bit) {
  ByteWriter stacks;
  for (const std::uint32_t word : {1, 2}) stacks.write(word);  // first id, count
  for (const std::uint64_t address : {0x1000, 0x2000}) {
    stacks.write(std::uint32_t{8});
    stacks.write(address);
  }
  auto content = std::string{as_text(stacks.bytes())};
  if (bit >= 0) content[byte] = static_cast<char>(content[byte] ^ (1 << bit));
  ByteWriter row;
  row.write(std::uint8_t{1 | 8});  // metadata id, stack id
  row.write_varuint(1);
  row.write_varuint(1);
  row.write_varuint(100);
  const auto trace = V4Builder{}
                         .declare(1)
                         .block("StackBlock", as_bytes(content))
                         .rows("EventBlock", row.bytes())
                         .end();
  Reader reader;
  EXPECT_TRUE(read_all(reader, trace, kIgnore));
  return reader.summary();
}

TEST(NettraceReader, NotesAFlippedBitInTheNumbersOfAStackBlock) {
  const auto whole = read_with_flipped_bit(0, -1);
  EXPECT_EQ(whole.events, 1U);
  EXPECT_EQ(whole.damaged, 0U);
  for (const std::size_t byte : {0U, 4U, 8U, 20U})  // first id, count, both lengths
    for (int bit = 0; bit < 32; ++bit)
      EXPECT_GE(read_with_flipped_bit(byte + static_cast<std::size_t>(bit) / 8, bit % 8).damaged,
                1U)
          << "bit " << bit << " of byte " << byte;
}

TEST(NettraceReader, CountsALossAtAGapAndAtASequencePoint) {
  const auto trace = V4Builder{}
                         .declare(1)
                         .event(7, 3, 5000)  // what was before the first one is not known
                         .event(7, 6, 6000)
                         .event(8, 1, 6000)
                         .sequence_point(7000, {{7, 10}, {8, 1}})
                         .event(7, 11, 8000)
                         .end();
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().lost, 2U + 4U);
  for (const auto& capture : reader.loss())
    EXPECT_EQ(capture.lost, capture.thread == ThreadId{7} ? 6U : 0U);
}

TEST(NettraceReader, TakesANumberThatFallsBackForANewThreadOfTheSameId) {
  const auto trace = V4Builder{}.declare(1).event(7, 900, 5000).event(7, 1, 6000).end();
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.summary().lost, 0U);
}

TEST(NettraceReader, ReadsRowsThatAreNotPacked) {
  ByteWriter row;
  row.write(std::uint32_t{76 + 3 + 1});  // with a byte of padding
  row.write(std::uint32_t{1});
  row.write(std::uint32_t{1});
  row.write(std::uint64_t{77});
  row.write(std::uint64_t{77});
  row.write(std::uint32_t{1});
  row.write(std::uint32_t{0});
  row.write(std::int64_t{5000});
  row.put("0123456789abcdef");
  row.write(Guid{});
  row.write(std::uint32_t{3});
  row.put("abc");
  row.write(std::uint8_t{0});
  ByteWriter rows;
  rows.put(row.bytes());
  rows.put(row.bytes());
  std::string payloads;
  Reader reader;
  ASSERT_TRUE(read_all(reader, V4Builder{}.declare(1).rows("EventBlock", rows.bytes(), false).end(),
                       [&](const Batch& batch) {
                         for (const auto& event : batch.events) {
                           payloads += as_text(event.payload);
                           ASSERT_NE(event.activity, nullptr);
                           EXPECT_EQ(event.activity->bytes[10], 'a');
                           EXPECT_EQ(event.related, nullptr);
                           EXPECT_EQ(event.thread, ThreadId{77});
                         }
                       }));
  EXPECT_EQ(payloads, "abcabc");
}

TEST(NettraceReader, LeavesOutEventsWithATimeFarFromTheStart) {
  constexpr std::int64_t kCentury = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
  const auto trace = V4Builder{}
                         .declare(1)
                         .event(7, 1, 5000)
                         .event(7, 2, INT64_MIN)
                         .event(7, 3, INT64_MAX)
                         .event(7, 4, -kCentury)
                         .event(7, 5, kCentury)
                         .sequence_point(INT64_MIN, {{7, 5}})
                         .event(7, 6, 900)  // a little before the start is valid
                         .end();
  Reader reader;
  std::vector<std::int64_t> ticks;
  const auto keep = [&](const Batch& batch) {
    for (const auto& event : batch.events) ticks.push_back(event.ticks);
    if (!batch.sequence_point) return;
    EXPECT_GT(batch.sequence_point->time.time_since_epoch(), std::chrono::nanoseconds{-kCentury});
  };
  ASSERT_TRUE(read_all(reader, trace, keep));
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{5000, 900}));
  EXPECT_EQ(reader.summary().lost, 0U);
  EXPECT_EQ(reader.summary().damaged, 5U);
  EXPECT_THAT(reader.damage()[0].what, HasSubstr("invalid time"));
}

TEST(NettraceReader, AllowsTicksWithin60YearsOfTheStart) {
  constexpr std::int64_t kReach = std::int64_t{60} * 365 * 24 * 3600;
  TraceInfo info{.sync_ticks = 1000, .ticks_per_second = 1};
  ASSERT_TRUE(valid_ticks(info));
  EXPECT_EQ(valid_ticks(info)->first, 1000 - kReach);
  EXPECT_EQ(valid_ticks(info)->last, 1000 + kReach);
  info.ticks_per_second = INT64_MAX;
  ASSERT_TRUE(valid_ticks(info));
  EXPECT_EQ(valid_ticks(info)->first, INT64_MIN);
  EXPECT_EQ(valid_ticks(info)->last, INT64_MAX);
}

TEST(NettraceReader, RefusesAStartTimeOutOfRange) {
  auto trace = V4Builder{}.declare(1).event(7, 1, 5000).end();
  const std::int64_t start = 1000, smallest = INT64_MIN;
  const auto at = trace.find(std::string{reinterpret_cast<const char*>(&start), sizeof start});
  ASSERT_NE(at, std::string::npos);
  std::memcpy(trace.data() + at, &smallest, sizeof smallest);
  Reader reader;
  const auto read = read_all(reader, trace, kIgnore);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("start time in the trace header is out of range"));
}

TEST(NettraceReader, RefusesWhatIsNoTrace) {
  const auto error_of = [](std::string_view input) {
    Reader reader;
    const auto done = read_all(reader, input, kIgnore);
    EXPECT_FALSE(done);
    return done ? Error{} : done.error();
  };
  EXPECT_THAT(error_of("").what, HasSubstr("empty"));
  EXPECT_THAT(error_of("MZ this is a program").what, HasSubstr("not a .nettrace"));
  EXPECT_THAT(error_of("\x28\xb5\x2f\xfd zstd").hint, HasSubstr("compressed"));
  EXPECT_THAT(error_of("Nettr").what, HasSubstr("ends within its header"));
  const auto v7 = error_of({"Nettrace\0\0\0\0\7\0\0\0\0\0\0\0", 20});
  EXPECT_EQ(v7.code, Errc::kUnsupported);
  EXPECT_THAT(v7.what, HasSubstr("version 7"));
  auto v5 = V4Builder{}.end();
  v5[8 + 24 + 3] = 5;
  EXPECT_THAT(error_of(v5).what, HasSubstr("version 5"));
}

// Its header has another layout, so that only the version can be told.
TEST(NettraceReader, SaysThatTheFirstVersionsAreUnsupported) {
  for (const std::uint32_t version : {1, 2}) {
    constexpr std::string_view kName = "Microsoft.DotNet.Runtime.EventPipeFile";
    ByteWriter out;
    out.write(std::uint32_t{20});
    out.put("!FastSerialization.1");
    out.put("\x04\x04\x01");
    for (const std::uint32_t word : {version, 0U, static_cast<std::uint32_t>(kName.size())})
      out.write(word);
    out.put(kName);
    out.write(std::uint8_t{6});
    out.put(std::string(40, '\x01'));
    Reader reader;
    const auto done = read_all(reader, as_text(out.bytes()), kIgnore);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kUnsupported);
    EXPECT_THAT(done.error().what, HasSubstr(fmt::format("version {}", version)));
  }
}

TEST(NettraceReader, StaysFailed) {
  Reader reader;
  EXPECT_FALSE(reader.feed(as_bytes("something else"), kIgnore));
  EXPECT_FALSE(reader.feed(as_bytes(V4Builder{}.end()), kIgnore));
}

TEST(NettraceReader, ReadsTheSameTypeOnce) {
  const auto trace = V4Builder{}.declare(1).declare(1).event(7, 1, 5000).end();
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, kIgnore));
  EXPECT_EQ(reader.type_count(), 1U);
  EXPECT_EQ(reader.type(0).name, "E");
}

}  // namespace
}  // namespace clrscope::nettrace
