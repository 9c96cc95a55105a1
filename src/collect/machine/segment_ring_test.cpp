#include "collect/machine/segment_ring.h"

#include <gtest/gtest.h>

#include "nettrace/writer.h"

namespace clrscope::collect {
namespace {

using namespace std::chrono_literals;

class SegmentRingTest : public testing::Test {
 protected:
  SegmentRingTest() {
    sample_.provider = "Universal.Events";
    sample_.name = "cpu";
    mapping_.index = 1;
    mapping_.provider = "Universal.System";
    mapping_.name = "ProcessMapping";
    mapping_.id = 3;
  }

  void write(const EventType& type, std::chrono::nanoseconds at, std::uint64_t address = 0) {
    const Event event{.type = &type,
                      .time = TraceTime{at},
                      .ticks = at.count(),
                      .thread = ThreadId{7},
                      .capture_thread = 1,
                      .payload = as_bytes("payload"),
                      .process = ProcessId{100}};
    const Bytes stack{reinterpret_cast<const std::uint8_t*>(&address), sizeof address};
    ASSERT_TRUE(writer_.write(source_, event, StackView{stack, 8}));
  }
  void cut(std::chrono::nanoseconds at) { ASSERT_TRUE(writer_.sequence_point(at.count())); }

  struct Read {
    std::uint64_t samples = 0, mappings = 0, lost = 0;
    std::vector<std::uint64_t> leaves{};
  };
  Read read(const std::function<Result<>(const std::function<Result<>(Bytes)>&)>& feed) {
    Read seen;
    nettrace::Reader reader;
    const auto on_batch = [&](const nettrace::Batch& batch) {
      for (const auto& event : batch.events) {
        if (event.type->name == "cpu") {
          ++seen.samples;
          seen.leaves.push_back(reader.stack(event.stack)[0]);
        } else {
          ++seen.mappings;
        }
      }
    };
    EXPECT_TRUE(feed([&](Bytes bytes) { return reader.feed(bytes, on_batch); }));
    EXPECT_TRUE(reader.finish(on_batch));
    EXPECT_EQ(reader.summary().damaged, 0U);
    seen.lost = reader.summary().lost;
    return seen;
  }

  EventType sample_, mapping_;
  SegmentRing ring_{testing::TempDir(), 10s};
  nettrace::Writer writer_{{.version = 6, .ticks_per_second = 1'000'000'000},
                           [this](Bytes bytes) { return ring_.add(bytes); }};
  nettrace::SourceId source_ = writer_.add_source(nettrace::Writer::Numbering::kNone);
};

TEST_F(SegmentRingTest, LetsOldSegmentsFallAndKeepsStacksOfTheRest) {
  for (int second = 0; second < 100; ++second) {
    write(sample_, second * 1s, static_cast<std::uint64_t>(second));
    cut(second * 1s);
  }
  EXPECT_LT(ring_.segments(), 14U);
  ASSERT_TRUE(writer_.finish());
  const auto left = read([&](const auto& take) { return ring_.replay(take); });
  ASSERT_GE(left.samples, 10U);
  EXPECT_LE(left.samples, 12U);
  EXPECT_EQ(left.leaves.back(), 99U);
  EXPECT_EQ(left.leaves.front(), 100 - left.samples);
}

TEST_F(SegmentRingTest, KeepsTheNamesOfWhatFellOut) {
  write(mapping_, 0s);
  write(sample_, 0s);
  for (int second = 1; second < 40; ++second) {
    write(sample_, second * 1s);
    cut(second * 1s);
  }
  ASSERT_TRUE(writer_.finish());
  const auto left = read([&](const auto& take) { return ring_.replay(take); });
  EXPECT_EQ(left.mappings, 0U);
  const auto names = ring_.names();
  ASSERT_TRUE(names);
  const auto kept = read([&](const auto& take) { return take(*names); });
  EXPECT_EQ(kept.mappings, 1U);
  EXPECT_EQ(kept.samples, 0U);
  EXPECT_EQ(kept.lost, 0U);
}

TEST_F(SegmentRingTest, KeepsEverythingOnceItIsFrozen) {
  write(sample_, 1s);
  cut(1s);
  ring_.freeze();
  write(sample_, 100s);
  cut(100s);
  ASSERT_TRUE(writer_.finish());
  EXPECT_EQ(read([&](const auto& take) { return ring_.replay(take); }).samples, 2U);
}

TEST_F(SegmentRingTest, RefusesWhatIsNoTrace) {
  SegmentRing other{testing::TempDir(), 1s};
  EXPECT_FALSE(other.add(as_bytes("short")));
  SegmentRing cut_short{testing::TempDir(), 1s};
  EXPECT_FALSE(cut_short.add(as_bytes("Nettrace____________\xff\xff\xff\x02")));
}

}  // namespace
}  // namespace clrscope::collect
