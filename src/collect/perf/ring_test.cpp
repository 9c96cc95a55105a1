#include "collect/perf/ring.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <cstring>

namespace clrscope::collect::perf {
namespace {

// Plays the kernel's part on memory of our own.
class FakeRing {
 public:
  static constexpr std::size_t kSize = 256;

  FakeRing() { control_.data_head = control_.data_tail = kSize - 24; }  // the second record wraps

  void write(std::uint16_t size, std::uint8_t fill) {
    std::vector<std::uint8_t> record(size, fill);
    const perf_event_header header{PERF_RECORD_SAMPLE, 0, size};
    std::memcpy(record.data(), &header, sizeof header);
    for (const auto byte : record) data_[control_.data_head++ % kSize] = byte;
  }

  RingReader reader() { return {&control_, data_.data(), kSize}; }
  perf_event_mmap_page control_{};
  std::array<std::uint8_t, kSize> data_{};
};

TEST(PerfRing, HandsOverARecordThatWrapsInOnePiece) {
  FakeRing fake;
  auto reader = fake.reader();
  fake.write(16, 1);
  fake.write(48, 2);
  std::vector<std::vector<std::uint8_t>> seen;
  EXPECT_EQ(reader.drain([&](Bytes r) { seen.emplace_back(r.begin(), r.end()); }), 2U);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].size(), 16U);
  ASSERT_EQ(seen[1].size(), 48U);
  for (std::size_t i = 8; i < 48; ++i) EXPECT_EQ(seen[1][i], 2);
}

TEST(PerfRing, GivesTheSpaceBack) {
  FakeRing fake;
  auto reader = fake.reader();
  fake.write(64, 1);
  EXPECT_EQ(reader.pending(), 64U);
  reader.drain([](Bytes) {});
  EXPECT_EQ(fake.control_.data_tail, fake.control_.data_head);
  EXPECT_EQ(reader.bytes_read(), 64U);
}

TEST(PerfRing, GivesARecordAgainThatWasPutBack) {
  FakeRing fake;
  auto reader = fake.reader();
  fake.write(16, 1);
  fake.write(48, 2);  // wraps
  const auto head = reader.begin();
  ASSERT_EQ(reader.next(head).size(), 16U);
  reader.put_back(reader.next(head));
  reader.end();
  EXPECT_EQ(reader.pending(), 48U);
  std::vector<std::uint8_t> seen;
  EXPECT_EQ(reader.drain([&](Bytes r) { seen.assign(r.begin(), r.end()); }), 1U);
  ASSERT_EQ(seen.size(), 48U);
  EXPECT_EQ(seen[47], 2);
}

TEST(PerfRing, ThrowsTheRestAwayWhenASizeIsWrong) {
  FakeRing fake;
  auto reader = fake.reader();
  fake.write(16, 1);
  fake.write(16, 2);
  fake.data_[(fake.control_.data_tail + 6) % FakeRing::kSize] = 0;  // the first one's size
  EXPECT_EQ(reader.drain([](Bytes) {}), 0U);
  EXPECT_EQ(reader.damaged(), 1U);
  fake.write(24, 3);
  EXPECT_EQ(reader.drain([](Bytes) {}), 1U);
}

}  // namespace
}  // namespace clrscope::collect::perf
