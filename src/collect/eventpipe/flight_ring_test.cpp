#include "collect/eventpipe/flight_ring.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/decompress.h"
#include "base/io.h"
#include "base/test_data.h"
#include "nettrace/reader.h"

namespace clrscope::collect {
namespace {

struct Counted {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t damaged = 0;
  std::uint64_t stacked = 0;  // events whose stack could be looked up
  bool ended = false;
};

Counted count(Bytes trace) {
  Counted counted;
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events)
      if (event.stack != StackId::kNone && reader.stack(event.stack).size() > 0) ++counted.stacked;
  };
  EXPECT_TRUE(reader.feed(trace, on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  counted.events = reader.summary().events;
  counted.lost = reader.summary().lost;
  counted.damaged = reader.summary().damaged;
  counted.ended = reader.summary().ended;
  return counted;
}

std::vector<std::uint8_t> replayed(const FlightRing& ring) {
  std::vector<std::uint8_t> trace;
  EXPECT_TRUE(ring.replay([&](Bytes bytes) -> Result<> {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
    return {};
  }));
  return trace;
}

std::string recorded(const char* name) {
  const auto file = read_file(test_data(std::string{"nettrace/"} + name)).value();
  std::string trace;
  Decompressor decompressor;
  const auto on_bytes = [&](Bytes bytes) -> Result<> {
    trace += as_text(bytes);
    return {};
  };
  EXPECT_TRUE(decompressor.feed(as_bytes(file), on_bytes));
  EXPECT_TRUE(decompressor.finish(on_bytes));
  return trace;
}

FlightRing ring_of(std::chrono::nanoseconds window) {
  return FlightRing{std::filesystem::temp_directory_path().string(), window};
}

TEST(FlightRing, ReplaysAllOfAStreamShorterThanItsWindow) {
  const auto trace = recorded("net10-v4.nettrace");
  auto ring = ring_of(std::chrono::hours{1});
  ASSERT_TRUE(ring.add(as_bytes(trace)));
  const auto before = count(as_bytes(trace));
  const auto after = count(replayed(ring));
  EXPECT_GT(before.stacked, 0U);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.stacked, before.stacked);
  EXPECT_EQ(after.lost, before.lost);
  EXPECT_EQ(after.damaged, 0U);
  EXPECT_TRUE(after.ended);
}

TEST(FlightRing, DropsWholeStretchesThatAreTooOld) {
  const auto trace = recorded("net10-loss.nettrace.zst");
  auto ring = ring_of(std::chrono::nanoseconds{0});
  ASSERT_TRUE(ring.add(as_bytes(trace)));
  const auto before = count(as_bytes(trace));
  const auto after = count(replayed(ring));
  EXPECT_LT(after.events, before.events);
  EXPECT_EQ(after.damaged, 0U);
  EXPECT_LE(ring.stretches(), 2U);
}

TEST(FlightRing, KeepsEverythingOnceFrozen) {
  const auto trace = recorded("net10-v4.nettrace");
  auto ring = ring_of(std::chrono::nanoseconds{0});
  ring.freeze();
  ASSERT_TRUE(ring.add(as_bytes(trace)));
  EXPECT_EQ(count(replayed(ring)).events, count(as_bytes(trace)).events);
}

TEST(FlightRing, RefusesHalfABlock) {
  const auto trace = recorded("net10-v4.nettrace");
  auto ring = ring_of(std::chrono::hours{1});
  EXPECT_FALSE(ring.add(as_bytes(trace).first(trace.size() / 2)));
}

}  // namespace
}  // namespace clrscope::collect
