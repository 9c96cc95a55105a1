#include "analyze/collections.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint32_t kForGc = 1;
constexpr std::uint32_t kForPrep = 6;
constexpr std::uint32_t kForOther = 0;
constexpr std::uint32_t kBlocking = 0;
constexpr std::uint32_t kBackground = 1;

struct Reads {
  void on_batch(const nettrace::Reader& /*reader*/, const nettrace::Batch& batch) {
    for (const auto& event : batch.events)
      collections.on_event(event, nettrace::known_event(*event.type), 8);
  }
  void end_of_trace(const nettrace::Reader& reader) { collections.end_of_trace(reader); }
  Collections collections;
};

class CollectionsTest : public testing::Test {
 protected:
  using At = TestTrace::At;
  void suspend(At at, std::uint32_t reason) {
    trace_.event(kRuntimeName, 9, 1, at, Payload{}.add(reason).add(0U).add(std::uint16_t{0}));
  }
  void restarts(At at) { trace_.event(kRuntimeName, 7, 1, at, Payload{}.add(std::uint16_t{0})); }
  void restarted(At at) { trace_.event(kRuntimeName, 3, 1, at, Payload{}.add(std::uint16_t{0})); }
  void start(At at, std::uint32_t number, std::uint32_t generation, std::uint32_t type) {
    trace_.event(kRuntimeName, 1, 2, at,
                 Payload{}
                     .add(number)
                     .add(generation)
                     .add(1U)
                     .add(type)
                     .add(std::uint16_t{0})
                     .add(std::uint64_t{0}));
  }
  void end(At at, std::uint32_t number, std::uint32_t generation) {
    trace_.event(kRuntimeName, 2, 1, at,
                 Payload{}.add(number).add(generation).add(std::uint16_t{0}));
  }
  const std::vector<Collection>& read() {
    trace_.read_into(reads_);
    return reads_.collections.all();
  }

  TestTrace trace_;
  Reads reads_;
};

TEST_F(CollectionsTest, PausesFromSuspensionToRestart) {
  suspend({.time = 10}, kForGc);
  start({.time = 12}, 1, 0, kBlocking);
  end({.time = 18}, 1, 0);
  restarted({.time = 20});
  const auto& all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pause, nanoseconds{10});
  EXPECT_EQ(all[0].duration, nanoseconds{6});
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{10});
}

TEST_F(CollectionsTest, IsOverWhenThreadsRunAgain) {
  suspend({.time = 10}, kForGc);
  start({.time = 12}, 1, 0, kBlocking);
  end({.time = 18}, 1, 0);
  restarts({.time = 20});
  restarted({.time = 120});  // the one that restarts them waited for a processor
  const auto& all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pause, nanoseconds{10});
  EXPECT_EQ(all[0].restarts, nanoseconds{100});
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{10});
}

TEST_F(CollectionsTest, AddsUpPausesOfEachProcessByItself) {
  for (const std::int32_t process : {100, 200}) {
    suspend({.time = 10, .process = process}, kForGc);
    start({.time = 11, .process = process}, 1, 0, kBlocking);
    end({.time = 12, .process = process}, 1, 0);
    restarted({.time = process, .process = process});
  }
  read();
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{280});
  EXPECT_EQ(reads_.collections.most_paused(), nanoseconds{190});
}

TEST_F(CollectionsTest, LeavesOutTheSamplersSuspensions) {
  suspend({.time = 5, .thread = 2}, kForOther);
  restarted({.time = 6, .thread = 2});
  suspend({.time = 9, .thread = 2}, kForOther);  // in progress when the collection asks
  suspend({.time = 10, .thread = 1}, kForGc);
  restarted({.time = 11, .thread = 2});
  start({.time = 12, .thread = 1}, 1, 0, kBlocking);
  end({.time = 18, .thread = 1}, 1, 0);
  restarted({.time = 20, .thread = 1});
  const auto& all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pause, nanoseconds{10});
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{10});
}

TEST_F(CollectionsTest, AddsUpTheTwoPausesOfABackgroundCollection) {
  suspend({.time = 10, .thread = 1}, kForGc);
  start({.time = 12, .thread = 1}, 4, 2, kBackground);
  restarts({.time = 14, .thread = 9});  // by its own thread
  restarted({.time = 15, .thread = 9});
  suspend({.time = 50, .thread = 9}, kForPrep);
  restarts({.time = 56, .thread = 9});
  restarted({.time = 57, .thread = 9});
  end({.time = 80, .thread = 9}, 4, 2);
  const auto& all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pause, nanoseconds{10});
  EXPECT_EQ(all[0].longest_pause, nanoseconds{6});
  EXPECT_EQ(all[0].restarts, nanoseconds{2});
  EXPECT_EQ(all[0].duration, nanoseconds{68});
}

TEST_F(CollectionsTest, SharesAPauseAmongTheCollectionsInIt) {
  suspend({.time = 10}, kForGc);
  start({.time = 12}, 6, 2, kBackground);
  start({.time = 13}, 7, 1, kBlocking);
  end({.time = 30}, 7, 1);
  restarted({.time = 40});
  const auto& all = read();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].pause, nanoseconds{3});
  EXPECT_EQ(all[1].pause, nanoseconds{27});
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{30});
}

TEST_F(CollectionsTest, SaysUnknownWhenTheTraceEndsTooEarly) {
  suspend({.time = 10}, kForGc);
  start({.time = 12}, 1, 0, kBlocking);
  const auto& all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].pause);
  EXPECT_FALSE(all[0].duration);
}

TEST_F(CollectionsTest, MakesNoPauseOfTheEndsOfTwo) {
  suspend({.time = 10, .thread = 1}, kForGc);  // what follows was not seen
  restarted({.time = 5'000, .thread = 2});     // what came before was not
  suspend({.time = 6'000, .thread = 1}, kForGc);
  restarted({.time = 9'000, .thread = 1});  // of another one, likewise
  suspend({.time = 10'000, .thread = 1}, kForGc);
  start({.time = 10'002, .thread = 1}, 1, 0, kBlocking);
  end({.time = 10'008, .thread = 1}, 1, 0);
  restarted({.time = 10'010, .thread = 1});
  ASSERT_EQ(read().size(), 1U);
  EXPECT_EQ(reads_.collections.paused(), nanoseconds{10});
}

}  // namespace
}  // namespace clrscope::analyze
