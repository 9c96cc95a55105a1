#include "nettrace/writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettrace/convert.h"
#include "nettrace/framing.h"
#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

WriteBytes append_to(std::string& out) {
  return [&out](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  };
}

std::string converted(std::string_view trace, std::function<bool(const Event&)> keep = {}) {
  std::string out;
  Converter converter{append_to(out), std::move(keep)};
  EXPECT_TRUE(converter.feed(as_bytes(trace)));
  EXPECT_TRUE(converter.finish());
  return out;
}

class ConvertedTrace : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(NettraceWriter, ConvertedTrace,
                         ::testing::Values("net8-v4.nettrace", "net9-v4.nettrace",
                                           "net10-v4.nettrace", "net10-v3.netperf",
                                           "net10-loss.nettrace.zst"));

TEST_P(ConvertedTrace, HoldsWhatTheOriginalDid) {
  const auto original = trace_file(GetParam());
  const auto once = converted(original);
  EXPECT_EQ(describe(once), describe(original));
  EXPECT_EQ(describe(converted(once)), describe(original)) << "converted twice";
}

// `content` as a block of a kind that nobody has defined yet.
std::string unknown_block(std::uint8_t kind, std::string_view content) {
  ByteWriter out;
  out.write(static_cast<std::uint32_t>(content.size()) | std::uint32_t{kind} << 24);
  out.put(content);
  return std::string{as_text(out.bytes())};
}

TEST(NettraceReader, StepsOverBlocksOfKindsThatLaterVersionsMayHave) {
  const auto trace = converted(trace_file("net10-v4.nettrace"));
  constexpr std::size_t kMagic = 20;
  const auto first = kMagic + next_v6_block(as_bytes(std::string_view{trace}.substr(kMagic))).size;
  for (const auto kind : std::to_array<std::uint8_t>({9, 32, 33, 200, 255})) {
    auto longer = trace;
    longer.insert(first, unknown_block(kind, "later") + unknown_block(kind, ""));
    for (const std::size_t piece : {std::string_view::npos, std::size_t{7}})
      EXPECT_EQ(describe(longer, piece), describe(trace)) << "kind " << int{kind};
  }
}

TEST(NettraceReader, TakesGarbageForDamageAndNotForAnUnknownKind) {
  auto trace = converted(trace_file("net10-v4.nettrace"));
  constexpr std::size_t kMagic = 20;
  const auto first = kMagic + next_v6_block(as_bytes(std::string_view{trace}.substr(kMagic))).size;
  trace.insert(first, "\x03\x02\x01\x63garbage that leads nowhere");
  Reader reader;
  ASSERT_TRUE(read_all(reader, trace, [](const Batch&) {}));
  EXPECT_GE(reader.summary().damaged, 1U);
}

class NettraceWriter : public ::testing::Test {
 protected:
  NettraceWriter() {
    info_.ticks_per_second = 1'000'000'000;
    info_.process = ProcessId{1};
    type_.provider = "P";
    type_.id = 1;
    writer_.emplace(info_, append_to(out_));
    source_ = writer_->add_source(Writer::Numbering::kFromFirstSeen);
  }

  Event event(std::int64_t ticks, std::uint32_t sequence, std::uint64_t capture = 9) {
    return {.type = &type_,
            .ticks = ticks,
            .thread = ThreadId{70},
            .capture_thread = capture,
            .process = ProcessId{1},
            .sequence = sequence};
  }

  void read(const OnBatch& on_batch) {
    EXPECT_TRUE(writer_->finish());
    const auto done = read_all(reader_, out_, on_batch);
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ(reader_.summary().damaged, 0U);
    EXPECT_TRUE(reader_.summary().ended);
  }

  TraceInfo info_;
  EventType type_;
  std::string out_;
  std::optional<Writer> writer_;
  SourceId source_{};
  Reader reader_;
};

TEST_F(NettraceWriter, PutsTheEventsOfACaptureThreadInOrderOfTime) {
  for (const auto ticks : {50, 10, 30}) ASSERT_TRUE(writer_->write(source_, event(ticks, 1)));
  std::vector<std::int64_t> ticks;
  read([&](const Batch& batch) {
    for (const auto& e : batch.events) ticks.push_back(e.ticks);
  });
  EXPECT_THAT(ticks, ::testing::ElementsAre(10, 30, 50));
  EXPECT_EQ(reader_.summary().lost, 0U);
}

TEST_F(NettraceWriter, WritesUpToWhereAllSourcesHaveCome) {
  ASSERT_TRUE(writer_->advance(5));
  const std::uint64_t stacks[] = {0x10, 0x20, 0x30};
  const auto write = [&](std::int64_t ticks, std::uint32_t sequence, const std::uint64_t& stack) {
    const Bytes bytes{reinterpret_cast<const std::uint8_t*>(&stack), sizeof stack};
    ASSERT_TRUE(writer_->write(source_, event(ticks, sequence), StackView{bytes, 8}));
  };
  write(10, 1, stacks[0]);
  write(30, 2, stacks[1]);
  ASSERT_TRUE(writer_->advance(20));
  Reader so_far;
  std::vector<std::int64_t> written;
  ASSERT_TRUE(so_far.feed(as_bytes(out_), [&](const Batch& batch) {
    for (const auto& e : batch.events) written.push_back(e.ticks);
  }));
  EXPECT_THAT(written, ::testing::ElementsAre(10));
  ASSERT_TRUE(writer_->sequence_point(20));  // the held one needs its stack after it
  write(15, 3, stacks[2]);                   // too late, but not lost
  EXPECT_EQ(writer_->summary().late, 1U);
  std::vector<std::pair<std::int64_t, std::uint64_t>> all;
  read([&](const Batch& batch) {
    for (const auto& e : batch.events) all.emplace_back(e.ticks, reader_.stack(e.stack)[0]);
  });
  EXPECT_THAT(all, ::testing::UnorderedElementsAre(std::pair{10, 0x10}, std::pair{15, 0x30},
                                                   std::pair{30, 0x20}));
  EXPECT_EQ(reader_.summary().lost, 0U);
}

TEST_F(NettraceWriter, HandsOverAMegabyteAtATime) {
  std::size_t largest = 0;
  std::string out;
  Writer writer{info_, [&](Bytes bytes) -> Result<> {
                  largest = std::max(largest, bytes.size());
                  out += as_text(bytes);
                  return {};
                }};
  const auto source = writer.add_source(Writer::Numbering::kFromFirstSeen);
  ASSERT_TRUE(writer.advance(1));
  const std::vector<std::uint8_t> payload(10'000, 7);
  for (std::uint32_t i = 1; i <= 700; ++i) {
    auto one = event(i + 1, i);
    one.payload = payload;
    ASSERT_TRUE(writer.write(source, one));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_LT(largest, 3U << 20);
  ASSERT_TRUE(read_all(reader_, out, [](const Batch&) {}));
  EXPECT_EQ(reader_.summary().events, 700U);
  EXPECT_EQ(reader_.summary().lost, 0U);
  EXPECT_EQ(reader_.summary().damaged, 0U);
}

TEST_F(NettraceWriter, HoldsNothingForAnOutputThatFailed) {
  int refused = 0;
  bool full = false;
  Writer writer{info_, [&](Bytes) -> Result<> {
                  if (!full) return {};
                  ++refused;
                  return fail(Errc::kSystem, "No space left on device");
                }};
  const auto source = writer.add_source(Writer::Numbering::kFromFirstSeen);
  ASSERT_TRUE(writer.advance(1));
  full = true;
  const std::vector<std::uint8_t> payload(10'000, 7);
  std::uint32_t written = 0;
  for (std::uint32_t i = 1; i <= 3000; ++i) {
    auto one = event(i + 1, i);
    one.payload = payload;
    if (writer.write(source, one)) ++written;
  }
  EXPECT_LT(written, 1000U);
  EXPECT_FALSE(writer.advance(5000));
  const auto done = writer.finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "No space left on device");
  EXPECT_EQ(refused, 1);
}

TEST_F(NettraceWriter, KeepsGapsOfWhatItHolds) {
  ASSERT_TRUE(writer_->advance(1));
  ASSERT_TRUE(writer_->write(source_, event(10, 1)));
  ASSERT_TRUE(writer_->write(source_, event(20, 5)));
  ASSERT_TRUE(writer_->advance(10));
  ASSERT_TRUE(writer_->sequence_point(10));
  read([](const Batch&) {});
  EXPECT_EQ(reader_.summary().lost, 3U);
  EXPECT_EQ(writer_->summary().late, 0U);
}

// TraceEvent refuses a file whose sequence point names a thread that it has not heard of.
TEST_F(NettraceWriter, DeclaresACaptureThreadWithoutEventsBeforeASequencePoint) {
  ASSERT_TRUE(writer_->advance(10));
  ASSERT_TRUE(writer_->write(source_, event(20, 1)));  // held
  writer_->checkpoint(source_, 77, 5);
  ASSERT_TRUE(writer_->sequence_point(10));
  std::vector<std::size_t> declared;
  read([&](const Batch& batch) {
    if (batch.sequence_point) declared.push_back(reader_.thread_count());
  });
  ASSERT_FALSE(declared.empty());
  EXPECT_EQ(declared.front(), 4U);  // none, the event's own, and the two capture threads
}

TEST_F(NettraceWriter, KeepsGapsApartForEachSource) {
  const auto other = writer_->add_source(Writer::Numbering::kFromFirstSeen);
  ASSERT_TRUE(writer_->write(source_, event(10, 100)));
  ASSERT_TRUE(writer_->write(other, event(11, 5)));
  ASSERT_TRUE(writer_->write(source_, event(12, 103)));
  ASSERT_TRUE(writer_->write(other, event(13, 6)));
  writer_->checkpoint(other, 9, 10);
  read([](const Batch&) {});
  EXPECT_EQ(reader_.summary().lost, 2U + 4U);
  EXPECT_EQ(writer_->summary().lost, 6U);
}

TEST_F(NettraceWriter, DoesNotCountWhatWasLeftOutOnPurpose) {
  ASSERT_TRUE(writer_->write(source_, event(10, 1)));
  writer_->skip(source_, event(11, 2));
  writer_->skip(source_, event(12, 5));
  ASSERT_TRUE(writer_->write(source_, event(13, 6)));
  read([](const Batch&) {});
  EXPECT_EQ(reader_.summary().lost, 2U);
}

TEST_F(NettraceWriter, DeclaresEveryThreadAndThreadZero) {
  writer_->name_thread(ProcessId{1}, ThreadId{70}, "worker");
  ASSERT_TRUE(writer_->write(source_, event(10, 1)));
  read([](const Batch&) {});
  std::map<std::uint64_t, std::string> names;
  for (const auto& thread : reader_.threads()) names[thread.index] = thread.name;
  EXPECT_TRUE(names.contains(0));
  EXPECT_THAT(names, ::testing::Contains(::testing::Pair(::testing::_, "worker")));
}

class EndedThreads : public NettraceWriter {
 protected:
  void write(std::uint64_t thread, std::int64_t ticks) {
    auto one = event(ticks, 0);
    one.thread = ThreadId{thread};
    ASSERT_TRUE(writer_->write(source_, one));
  }
  void lives_and_ends(std::uint64_t thread, std::int64_t ticks) {
    writer_->name_thread(ProcessId{1}, ThreadId{thread}, fmt::format("t{}", thread));
    write(thread, ticks);
    writer_->thread_ended(ProcessId{1}, ThreadId{thread}, ticks);
  }
  // So many that those before are forgotten.
  void many_others_end(std::int64_t ticks) {
    for (std::uint64_t i = 0; i < 10'000; ++i) lives_and_ends(1000 + i, ticks);
  }
  // Its names, one for each time that it was declared.
  std::vector<std::string> names_of(std::uint64_t thread) {
    std::map<std::uint64_t, std::string> names;
    read([](const Batch&) {});
    for (const auto& one : reader_.threads())
      if (one.thread == ThreadId{thread}) names[one.index] = one.name;
    EXPECT_EQ(reader_.summary().events, writer_->summary().events);
    std::vector<std::string> out;
    for (const auto& [index, name] : names) out.push_back(name);
    return out;
  }
};

TEST_F(EndedThreads, KeepTheirNameForWhatComesLate) {
  lives_and_ends(70, 10);
  lives_and_ends(71, 10);
  write(70, 9);
  EXPECT_THAT(names_of(70), ::testing::ElementsAre("t70"));
}

TEST_F(EndedThreads, AreForgottenWhenManyOthersHaveEnded) {
  lives_and_ends(70, 10);
  many_others_end(20);
  write(70, 9);  // it is met as a new one
  EXPECT_THAT(names_of(70), ::testing::ElementsAre("t70", ""));
}

TEST_F(EndedThreads, AreNotForgottenBeforeTheirLastEventsAreWritten) {
  ASSERT_TRUE(writer_->advance(5));
  lives_and_ends(70, 10);
  many_others_end(20);
  write(70, 9);
  EXPECT_THAT(names_of(70), ::testing::ElementsAre("t70"));
}

TEST_F(EndedThreads, WhoseNumberIsAnothersAreNotForgotten) {
  lives_and_ends(70, 10);
  write(70, 2'000'000'000);
  many_others_end(2'000'000'000);
  write(70, 2'000'000'001);
  EXPECT_THAT(names_of(70), ::testing::ElementsAre("t70"));
}

TEST_F(EndedThreads, AreAllThoseOfAProcessThatEnded) {
  write(70, 10);
  write(71, 10);
  writer_->process_ended(ProcessId{1}, 10);
  many_others_end(20);
  write(71, 9);
  EXPECT_THAT(names_of(71), ::testing::ElementsAre("", ""));
}

TEST_F(NettraceWriter, KeepsActivitiesAndLabels) {
  const Guid activity{{1, 2, 3}};
  const Guid related{{4, 5, 6}};
  EventLabels labels;
  labels.trace_id = Guid{{7}};
  labels.span_id = 8;
  labels.level = 2;
  labels.texts = {{"route", "/pay"}};
  labels.numbers = {{"retry", -3}};
  auto with = event(10, 1);
  with.activity = &activity;
  with.related = &related;
  with.labels = &labels;
  ASSERT_TRUE(writer_->write(source_, with));
  ASSERT_TRUE(writer_->write(source_, event(11, 2)));
  int seen = 0;
  read([&](const Batch& batch) {
    for (const auto& e : batch.events) {
      if (++seen == 2) {
        EXPECT_EQ(e.activity, nullptr);
        EXPECT_EQ(e.labels, nullptr);
        continue;
      }
      ASSERT_NE(e.activity, nullptr);
      ASSERT_NE(e.related, nullptr);
      ASSERT_NE(e.labels, nullptr);
      EXPECT_EQ(*e.activity, activity);
      EXPECT_EQ(*e.related, related);
      EXPECT_EQ(e.labels->trace_id, labels.trace_id);
      EXPECT_EQ(e.labels->span_id, 8U);
      EXPECT_EQ(e.labels->level, 2);
      EXPECT_EQ(e.labels->texts, labels.texts);
      EXPECT_EQ(e.labels->numbers, labels.numbers);
    }
  });
  EXPECT_EQ(seen, 2);
}

TEST_F(NettraceWriter, WritesBlocksBelowTheLimitWhateverComes) {
  std::vector<std::uint8_t> payload(100'000, 1);
  std::vector<std::uint64_t> frames(100);
  for (std::uint32_t i = 1; i <= 500; ++i) {
    auto e = event(i, i);
    e.payload = payload;
    frames[0] = i;
    const StackView stack{{reinterpret_cast<const std::uint8_t*>(frames.data()), frames.size() * 8},
                          8};
    ASSERT_TRUE(writer_->write(source_, e, stack));
  }
  std::uint64_t depth = 0;
  read([&](const Batch& batch) {
    for (const auto& e : batch.events) depth += reader_.stack(e.stack).size();
  });
  EXPECT_EQ(depth, 500U * 100U);
  std::size_t blocks = 0;
  for (auto rest = as_bytes(out_).subspan(20); !rest.empty(); ++blocks) {
    const auto frame = next_v6_block(rest);
    ASSERT_EQ(frame.status, Frame::Status::kBlock);
    EXPECT_LT(frame.size, 4U << 20);
    rest = rest.subspan(frame.size);
  }
  EXPECT_GT(blocks, 50U);
}

TEST_F(NettraceWriter, RefusesAnEventThatNoBlockCanHold) {
  std::vector<std::uint8_t> payload(9 << 20);
  auto e = event(1, 1);
  e.payload = payload;
  EXPECT_FALSE(writer_->write(source_, e));
}

TEST(NettraceConverter, KeepsOnlyWhatIsWanted) {
  const auto original = trace_file("net10-v4.nettrace");
  const auto few = converted(original, [](const Event& e) { return e.type->id == 202; });
  Reader reader;
  ASSERT_TRUE(read_all(reader, few, [](const Batch&) {}));
  EXPECT_EQ(reader.summary().events, 41U);
  EXPECT_EQ(reader.summary().lost, 0U);
}

TEST(NettraceConverter, SaysFromWhenOnATraceHoldsAll) {
  const auto original = trace_file("net10-v4.nettrace");
  Reader reader;
  ASSERT_TRUE(read_all(reader, original, [](const Batch&) {}));
  const auto window = reader.info()->begin() + std::chrono::milliseconds{250};
  std::string out;
  Converter converter{append_to(out)};
  converter.begin_window(window);
  ASSERT_TRUE(converter.feed(as_bytes(original)));
  ASSERT_TRUE(converter.finish());
  Reader again;
  ASSERT_TRUE(read_all(again, converted(out), [](const Batch&) {}));
  EXPECT_EQ(again.info()->begin(), window);
  EXPECT_TRUE(again.info()->only_names(window - std::chrono::nanoseconds{1}));
  EXPECT_FALSE(again.info()->only_names(window));
}

TEST(NettraceConverter, ReadsPastADamagedBlockOfVersion6) {
  V4Builder builder;
  builder.declare(1);
  for (std::uint32_t i = 1; i <= 5; ++i)
    builder.event(7, i, 1000 + i).sequence_point(1000 + i, {{7, i}});
  const auto trace = converted(builder.end());
  // Damage the size of the second event block.
  std::vector<std::size_t> event_blocks;
  for (std::size_t at = 20; at < trace.size();) {
    const auto frame = next_v6_block(as_bytes(trace).subspan(at));
    if (frame.kind == BlockKind::kEvent) event_blocks.push_back(at);
    at += frame.size;
  }
  ASSERT_EQ(event_blocks.size(), 5U);
  auto damaged = trace;
  damaged[event_blocks[1] + 2] = '\x7f';
  Reader reader;
  ASSERT_TRUE(read_all(reader, damaged, [](const Batch&) {}));
  EXPECT_EQ(reader.summary().events, 4U);
  EXPECT_GE(reader.summary().damaged, 1U);
  EXPECT_EQ(reader.summary().lost, 1U);
}

}  // namespace
}  // namespace clrscope::nettrace
