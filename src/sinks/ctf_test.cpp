#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/io.h"
#include "sinks/test_events.h"
#include "sinks/time_order.h"

namespace clrscope::sinks {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

struct Packet {
  std::uint64_t begin, end, bits = 0, discarded = 0;
};

// The packets of a stream that has nothing behind its last one.
std::vector<Packet> packets_of(const std::string& path) {
  const auto bytes = read_file(path);
  CHECK(bytes);
  std::vector<Packet> packets;
  for (std::size_t at = 0; at < bytes->size();) {
    ByteReader in{as_bytes(*bytes).subspan(at)};
    EXPECT_EQ(in.read<std::uint32_t>(), 0xc1fc1fc1U);
    in.skip(16 + 4);
    Packet packet{.begin = in.read<std::uint64_t>(), .end = in.read<std::uint64_t>()};
    packet.bits = in.read<std::uint64_t>();
    EXPECT_EQ(in.read<std::uint64_t>(), packet.bits);
    packet.discarded = in.read<std::uint64_t>();
    EXPECT_TRUE(in.ok());
    packets.push_back(packet);
    at += packet.bits / 8;
    EXPECT_LE(at, bytes->size());
    if (packet.bits == 0) break;
  }
  return packets;
}

TEST(CtfSink, WritesAPacketWithEachTickAndCountsWhatWasDropped) {
  const TestFolder folder;
  const auto path = folder / "t";
  const TestProcess one{7, 1}, two{8, 2};
  const auto sink = make_sink("ctf:" + path);
  ASSERT_TRUE(sink->open());
  const auto now = TraceClock::now();
  ASSERT_TRUE(sink->on_batch(one.batch(0, 100, now - seconds{2})));
  ASSERT_TRUE(sink->on_tick());
  ASSERT_EQ(packets_of(path + "/stream").size(), 1U);
  EXPECT_THAT(read_file(path + "/metadata").value(), HasSubstr("Shop:Sold"));
  // Of two processes, the later first.
  ASSERT_TRUE(sink->on_batch(two.batch(0, 50, now)));
  ASSERT_TRUE(sink->on_batch(one.batch(100, 50, now - seconds{1})));
  ASSERT_TRUE(sink->on_dropped(17));
  const std::vector values{test_value()};
  ASSERT_TRUE(sink->on_counters(values));
  ASSERT_TRUE(sink->close({.dropped = 17, .lost = 3}));

  const auto packets = packets_of(path + "/stream");
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].discarded, 0U);
  EXPECT_EQ(packets[1].discarded, 20U);
  EXPECT_EQ(packets[1].begin,
            static_cast<std::uint64_t>((now - seconds{1}).time_since_epoch().count()));
  EXPECT_THAT(read_file(path + "/metadata").value(), HasSubstr("Clrscope.Counters:Value"));
}

TEST(CtfSink, DoesNotWriteOverATrace) {
  const TestFolder folder;
  const auto path = folder / "t";
  const auto late = make_sink("ctf:" + path);  // that had a look before there was a trace
  ASSERT_TRUE(make_sink("ctf:" + path)->open());
  const auto again = late->open();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("already exists"));
}

TEST(TimeOrder, GivesTheEarliestFirstAndNotMoreThanItMayHold) {
  const TestProcess one{7};
  TimeOrder order{100};
  const auto now = TraceClock::now();
  order.add(one.batch(0, 10, now));
  order.add(one.batch(10, 10, now - seconds{1}));
  std::vector<TraceTime> times;
  const auto visit = [&](const hub::Block& block, std::uint32_t row) {
    times.push_back(block.events()[row].time);
  };
  order.take(now - seconds{1} + std::chrono::microseconds{4}, visit);
  EXPECT_EQ(times.size(), 5U);
  EXPECT_FALSE(order.full());
  order.add(one.batch(20, 90, now + seconds{1}));
  EXPECT_TRUE(order.full());
  order.take(TraceTime::min(), visit);
  EXPECT_EQ(times.size(), 5U + 52U);
  order.take(TraceTime::max(), visit);
  EXPECT_EQ(times.size(), 110U);
  EXPECT_TRUE(std::ranges::is_sorted(times));
}

}  // namespace
}  // namespace clrscope::sinks
