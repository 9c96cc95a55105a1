#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "wire/control.h"
#include "wire/ring.h"

namespace clrscope::wire {
namespace {

struct Pair {
  std::unique_ptr<Ring> ring = std::make_unique<Ring>();
  RingWriter writer;
  RingReader reader{*ring};
  Pair() { writer.open(ring.get()); }

  bool write(std::uint64_t number, std::uint32_t frames) {
    const auto bytes = record_bytes<ExceptionThrown>(frames);
    auto* record = static_cast<ExceptionThrown*>(writer.reserve(bytes));
    if (!record) return false;
    *record = {.header = {RecordKind::kExceptionThrown, static_cast<std::uint16_t>(bytes), 7, 9},
               .number = number,
               .type = 3,
               .frames = frames};
    auto* stack = reinterpret_cast<std::uint32_t*>(record + 1);
    for (std::uint32_t i = 0; i < frames; ++i) stack[i] = i;
    writer.commit(bytes);
    return true;
  }

  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> numbers;
    reader.drain([&](const void* bytes, std::uint32_t size) {
      const auto* record = parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size);
      ASSERT_NE(record, nullptr);
      for (std::uint32_t i = 0; i < record->frames; ++i) ASSERT_EQ(frames_of(record)[i], i);
      numbers.push_back(record->number);
    });
    return numbers;
  }
};

TEST(Ring, GivesBackWhatWasWrittenOverManyRounds) {
  Pair pair;
  std::uint64_t written = 0, read = 0;
  while (written < 50'000) {
    for (std::uint32_t i = 0; i < 37; ++i) {
      ASSERT_TRUE(pair.write(written, static_cast<std::uint32_t>((written * 7) % 200)));
      ++written;
    }
    for (const auto number : pair.read()) ASSERT_EQ(number, read++);
  }
  EXPECT_EQ(read, written);
  EXPECT_EQ(pair.reader.damaged(), 0U);
}

TEST(Ring, RefusesWhatDoesNotFitAndKeepsWhatIsThere) {
  Pair pair;
  std::uint64_t written = 0;
  while (pair.write(written, 100)) ++written;
  EXPECT_GT(written, 280U);
  EXPECT_EQ(pair.read().size(), written);
  EXPECT_TRUE(pair.write(1, 100));
}

TEST(Ring, StopsAtAReadPositionThatCannotBe) {
  Pair pair;
  pair.ring->tail = ~std::uint64_t{0} / 2;
  EXPECT_FALSE(pair.write(1, 1));
  pair.ring->tail = 8;
  EXPECT_FALSE(pair.write(1, 1));
}

TEST(Ring, SkipsWhatAHostileWriterClaims) {
  for (const std::uint64_t head :
       {std::uint64_t{3}, std::uint64_t{kRingBytes} * 2, ~std::uint64_t{0}}) {
    Pair pair;
    pair.ring->head = head;
    EXPECT_TRUE(pair.read().empty());
    EXPECT_EQ(pair.reader.damaged(), 1U);
  }
  for (const auto size : std::vector<std::uint16_t>{0, 4, 9, 65528}) {
    Pair pair;
    ASSERT_TRUE(pair.write(1, 3));
    std::memcpy(pair.ring->bytes + 2, &size, sizeof size);
    EXPECT_TRUE(pair.read().empty());
    EXPECT_EQ(pair.reader.damaged(), 1U);
  }
}

TEST(Ring, BelongsToOneWriterAtATime) {
  RingWriter writer;
  EXPECT_TRUE(writer.try_claim());
  EXPECT_FALSE(writer.try_claim());
  writer.release();
  EXPECT_TRUE(writer.try_claim());
}

TEST(Ring, IsReadWhileItIsWritten) {
  Pair pair;
  constexpr std::uint64_t kCount = 200'000;
  std::uint64_t lost = 0;
  std::atomic<bool> done{false};
  std::thread writer{[&] {
    for (std::uint64_t i = 0; i < kCount; ++i)
      if (!pair.write(i, static_cast<std::uint32_t>(i % 5))) ++lost;
    done = true;
  }};
  std::uint64_t read = 0;
  for (bool last = false; !last;) {
    last = done;
    read += pair.read().size();
  }
  writer.join();
  EXPECT_EQ(read + lost, kCount);
  EXPECT_EQ(pair.reader.damaged(), 0U);
}

TEST(Records, AreRefusedWithAnotherSizeOrKind) {
  alignas(8) std::uint8_t bytes[64]{};
  ExceptionThrown thrown{
      .header = {RecordKind::kExceptionThrown, 40, 1, 1}, .number = 1, .type = 1, .frames = 2};
  const auto parse = [&](std::uint32_t size) {
    std::memcpy(bytes, &thrown, sizeof thrown);
    return parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size);
  };
  EXPECT_NE(parse(40), nullptr);
  EXPECT_EQ(parse(32), nullptr);
  thrown.frames = 3;
  EXPECT_EQ(parse(40), nullptr);
  thrown.frames = 0x4000'0000;
  EXPECT_EQ(parse(40), nullptr);
  thrown.frames = 2;
  thrown.header.kind = RecordKind::kThreadStack;
  EXPECT_EQ(parse(40), nullptr);
  EXPECT_EQ(parse(8), nullptr);
}

TEST(Arena, HasNamesOnlyInsideItsText) {
  const auto arena = std::make_unique<Arena>();
  char name[8];
  EXPECT_EQ(copy_name(*arena, 0, name, sizeof name), 0U);
  std::memcpy(arena->text + 4, "Shop.Buy", 8);
  arena->names[5].offset = 4;
  arena->names[5].size = 8;
  EXPECT_EQ(copy_name(*arena, 5, name, sizeof name), 8U);
  EXPECT_EQ(copy_name(*arena, 5, name, 4), 4U);
  EXPECT_EQ(copy_name(*arena, kNameSlots, name, sizeof name), 0U);
  EXPECT_EQ(copy_name(*arena, kNoName, name, sizeof name), 0U);
  arena->names[5].size = kTextBytes;
  EXPECT_EQ(copy_name(*arena, 5, name, sizeof name), 0U);
  arena->names[5].offset = 0xffff'ffff;
  EXPECT_EQ(copy_name(*arena, 5, name, sizeof name), 0U);
}

TEST(Arena, IsKnownByItsHeader) {
  const auto arena = std::make_unique<Arena>();
  EXPECT_FALSE(is_arena(arena.get(), kArenaBytes));
  arena->header.magic = kArenaMagic;
  arena->header.protocol = kProtocol;
  arena->header.bytes = kArenaBytes;
  EXPECT_TRUE(is_arena(arena.get(), kArenaBytes));
  EXPECT_FALSE(is_arena(arena.get(), kArenaBytes - 1));
  arena->header.protocol = kProtocol + 1;
  EXPECT_FALSE(is_arena(arena.get(), kArenaBytes));
}

TEST(Arena, HasAClockPairWhenNobodyWritesOne) {
  const auto arena = std::make_unique<Arena>();
  arena->header.clock_tsc = 5;
  ClockPair pair;
  EXPECT_TRUE(read_clock(arena->header, pair));
  EXPECT_EQ(pair.tsc, 5U);
  arena->header.clock_version = 1;
  EXPECT_FALSE(read_clock(arena->header, pair));
}

TEST(Control, KnowsRequestsOfEveryVersion) {
  Request request{kControlMagic, 9, RequestKind::kDetach, 1, 0};
  EXPECT_TRUE(is_request(&request, sizeof request));
  EXPECT_FALSE(is_request(&request, sizeof request - 1));
  request.magic = 1;
  EXPECT_FALSE(is_request(&request, sizeof request));
}

TEST(Control, ReadsAShortReplyOfAnotherVersion) {
  Reply reply{};
  reply.magic = kControlMagic;
  reply.protocol = 2;
  reply.id = 4;
  reply.outcome = Outcome::kOtherProtocol;
  reply.status.pid = 77;
  EXPECT_TRUE(is_reply(&reply, 16, 4));
  EXPECT_FALSE(is_reply(&reply, 15, 4));
  EXPECT_FALSE(is_reply(&reply, 16, 5));
  EXPECT_EQ(parse_reply(&reply, 16).status.pid, 0U);
  EXPECT_EQ(parse_reply(&reply, sizeof reply).status.pid, 77U);
}

TEST(Control, TakesOnlyAttachDataWithAPath) {
  AttachData data{};
  data.magic = kControlMagic;
  data.protocol = kProtocol;
  EXPECT_FALSE(is_attach_data(&data, sizeof data));
  std::strcpy(data.socket, "/tmp/s");
  EXPECT_TRUE(is_attach_data(&data, sizeof data));
  EXPECT_FALSE(is_attach_data(&data, 10));
  std::memset(data.socket, '/', sizeof data.socket);
  EXPECT_FALSE(is_attach_data(&data, sizeof data));
}

}  // namespace
}  // namespace clrscope::wire
