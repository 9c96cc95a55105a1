#include "base/channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace clrscope {
namespace {

TEST(Channel, HandsOverInOrder) {
  Channel<int> channel{3};
  EXPECT_TRUE(channel.try_push(1));
  EXPECT_TRUE(channel.try_push(2));
  EXPECT_EQ(channel.pop({}), 1);
  EXPECT_EQ(channel.pop({}), 2);
}

TEST(Channel, DropsAndCountsWhatDoesNotFit) {
  Channel<int> channel{2};
  EXPECT_TRUE(channel.try_push(1));
  EXPECT_TRUE(channel.try_push(2));
  EXPECT_FALSE(channel.try_push(3));
  EXPECT_FALSE(channel.try_push(4));
  EXPECT_EQ(channel.dropped(), 2U);
  EXPECT_EQ(channel.size(), 2U);
  EXPECT_EQ(channel.pop({}), 1);
  EXPECT_TRUE(channel.try_push(5));
  EXPECT_EQ(channel.dropped(), 2U);
}

TEST(Channel, TakesWhatCannotBeCopied) {
  Channel<std::unique_ptr<int>> channel{1};
  EXPECT_TRUE(channel.try_push(std::make_unique<int>(7)));
  EXPECT_EQ(**channel.pop({}), 7);
}

TEST(Channel, DrainsAfterAStopAndThenEnds) {
  Channel<int> channel{4};
  EXPECT_TRUE(channel.try_push(1));
  EXPECT_TRUE(channel.try_push(2));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(channel.pop(stop.get_token()), 1);
  EXPECT_EQ(channel.pop(stop.get_token()), 2);
  EXPECT_EQ(channel.pop(stop.get_token()), std::nullopt);
}

TEST(Channel, AStopWakesAWaitingConsumer) {
  Channel<int> channel{1};
  std::optional<int> got{1};
  {
    std::jthread consumer{[&](std::stop_token stop) { got = channel.pop(stop); }};
  }  // the destructor asks it to stop and joins
  EXPECT_EQ(got, std::nullopt);
}

TEST(Channel, LosesNothingThatItDoesNotCount) {
  constexpr std::uint64_t kProducers = 4;
  constexpr std::uint64_t kEach = 20'000;
  Channel<std::uint64_t> channel{64};
  std::uint64_t received = 0;
  std::vector<std::uint64_t> last(kProducers, 0);
  bool in_order = true;
  {
    std::jthread consumer{[&](std::stop_token stop) {
      while (const auto item = channel.pop(stop)) {
        auto& before = last[*item % kProducers];
        in_order = in_order && *item / kProducers > before;
        before = *item / kProducers;
        ++received;
      }
    }};
    std::vector<std::jthread> producers;
    producers.reserve(kProducers);
    for (std::uint64_t p = 0; p < kProducers; ++p)
      producers.emplace_back([&channel, p] {
        for (std::uint64_t i = 1; i <= kEach; ++i) channel.try_push(i * kProducers + p);
      });
  }
  EXPECT_EQ(received + channel.dropped(), kProducers * kEach);
  EXPECT_GT(received, 0U);
  EXPECT_TRUE(in_order) << "items of one producer overtook each other";
}

TEST(Channel, GivesUpAfterItsPatience) {
  Channel<int> channel{2};
  std::stop_source never;
  EXPECT_FALSE(channel.pop_for(never.get_token(), std::chrono::milliseconds{1}).has_value());
  channel.try_push(7);
  EXPECT_EQ(channel.pop_for(never.get_token(), std::chrono::seconds{60}), 7);
}

TEST(Channel, WaitsForRoomWhenAsked) {
  Channel<int> channel{1};
  EXPECT_TRUE(channel.try_push(1));
  int two = 2;
  EXPECT_FALSE(channel.push_for(std::chrono::milliseconds{1}, two));
  EXPECT_EQ(channel.dropped(), 0U);
  std::jthread taker{[&](const std::stop_token& stop) { EXPECT_EQ(channel.pop(stop), 1); }};
  while (!channel.push_for(std::chrono::seconds{1}, two)) {
  }
  EXPECT_EQ(channel.pop({}), 2);
}

TEST(Channel, IsBoundedByWeightToo) {
  Channel<int> channel{10, 100};
  EXPECT_TRUE(channel.try_push(1, 500));  // alone it always fits
  EXPECT_FALSE(channel.try_push(2, 1));
  channel.push_anyway(3);
  EXPECT_EQ(channel.pop({}), 1);
  EXPECT_TRUE(channel.try_push(4, 60));
  EXPECT_FALSE(channel.try_push(5, 60));
  EXPECT_EQ(channel.dropped(), 2U);
}

}  // namespace
}  // namespace clrscope
