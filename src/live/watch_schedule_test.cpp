#include "live/watch_schedule.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "live/cpu_meter.h"

namespace clrscope::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TraceTime kStart{std::chrono::hours{1}};

WatchCost costs(milliseconds cpu, milliseconds pause = {}) { return {.cpu = cpu, .pause = pause}; }

// One look, which takes no time.
bool looks(WatchSchedule& schedule, pid_t pid, TraceTime now, const WatchCost& cost = {}) {
  if (schedule.take(now) != pid) return false;
  schedule.done(pid, now, cost);
  return true;
}

TEST(WatchSchedule, HasNothingToDoWhenNobodyAsks) {
  WatchSchedule schedule;
  EXPECT_EQ(schedule.take(kStart), std::nullopt);
  EXPECT_EQ(schedule.next(kStart), std::nullopt);
}

TEST(WatchSchedule, LooksEveryFiveSecondsAtOneThatIsAskedAbout) {
  WatchSchedule schedule;
  ASSERT_TRUE(schedule.ask(7, kStart));
  EXPECT_TRUE(looks(schedule, 7, kStart));
  EXPECT_EQ(schedule.take(kStart + milliseconds{4999}), std::nullopt);
  EXPECT_EQ(schedule.next(kStart), kStart + seconds{5});
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{5}));
  EXPECT_EQ(schedule.every(7, kStart), seconds{5});
}

TEST(WatchSchedule, LooksEveryTenSecondsAtThoseThatAreListed) {
  WatchSchedule schedule;
  schedule.ask_all(std::vector<pid_t>{7}, kStart);
  EXPECT_TRUE(looks(schedule, 7, kStart));
  EXPECT_EQ(schedule.take(kStart + milliseconds{9999}), std::nullopt);
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{10}));
}

TEST(WatchSchedule, StopsFifteenSecondsAfterTheLastAsk) {
  WatchSchedule schedule;
  schedule.ask(7, kStart);
  EXPECT_TRUE(looks(schedule, 7, kStart + milliseconds{14'999}));
  EXPECT_EQ(schedule.next(kStart + milliseconds{14'999}), kStart + seconds{15});
  EXPECT_EQ(schedule.take(kStart + seconds{18}), std::nullopt);
  schedule.drop_unasked(kStart + seconds{18});
  EXPECT_FALSE(schedule.has(7));
  EXPECT_EQ(schedule.next(kStart + seconds{18}), std::nullopt);
}

TEST(WatchSchedule, AnAskKeepsItGoing) {
  WatchSchedule schedule;
  schedule.ask(7, kStart);
  EXPECT_TRUE(looks(schedule, 7, kStart));
  schedule.ask(7, kStart + seconds{14});
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{20}));
}

TEST(WatchSchedule, NeverLooksTwiceAtOnce) {
  WatchSchedule schedule;
  schedule.ask(7, kStart);
  EXPECT_EQ(schedule.take(kStart), 7);
  schedule.ask(7, kStart + seconds{5});
  EXPECT_EQ(schedule.take(kStart + seconds{5}), std::nullopt);
  schedule.drop_unasked(kStart + seconds{60});
  EXPECT_TRUE(schedule.has(7)) << "the look goes on";
  schedule.done(7, kStart + seconds{60}, {});
  schedule.ask(7, kStart + seconds{60});
  EXPECT_EQ(schedule.take(kStart + seconds{65}), 7);
}

TEST(WatchSchedule, OneThatIsAskedAboutComesBeforeThoseThatAreListed) {
  WatchSchedule schedule;
  schedule.ask_all(std::vector<pid_t>{1, 2, 3}, kStart);
  schedule.ask(3, kStart);
  EXPECT_TRUE(schedule.is_asked(3, kStart));
  EXPECT_FALSE(schedule.is_asked(1, kStart));
  EXPECT_EQ(schedule.take(kStart), 3);
  EXPECT_EQ(schedule.take(kStart), 1);
}

TEST(WatchSchedule, TheLongestDueComesFirst) {
  WatchSchedule schedule;
  schedule.ask_all(std::vector<pid_t>{1, 2}, kStart);
  EXPECT_TRUE(looks(schedule, 1, kStart + seconds{1}));
  EXPECT_TRUE(looks(schedule, 2, kStart));
  EXPECT_EQ(schedule.take(kStart + seconds{12}), 2);
}

TEST(WatchSchedule, DearLooksAreRarer) {
  WatchSchedule schedule;
  schedule.ask(7, kStart);
  EXPECT_TRUE(looks(schedule, 7, kStart, costs(milliseconds{500})));
  EXPECT_EQ(schedule.every(7, kStart), seconds{5}) << "the first look opens what the next use";
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{5}, costs(milliseconds{13})));
  EXPECT_EQ(schedule.every(7, kStart + seconds{5}), seconds{10}) << "somebody waits for it";
  schedule.ask(7, kStart + seconds{10});
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{15}, costs(milliseconds{7})));
  EXPECT_EQ(schedule.every(7, kStart + seconds{15}), seconds{7});
  EXPECT_EQ(schedule.take(kStart + seconds{21}), std::nullopt);
}

TEST(WatchSchedule, LooksThatPauseTheProcessAreRarer) {
  WatchSchedule schedule;
  schedule.ask(7, kStart);
  EXPECT_TRUE(looks(schedule, 7, kStart));
  EXPECT_TRUE(looks(schedule, 7, kStart + seconds{5}, costs({}, milliseconds{70})));
  EXPECT_EQ(schedule.every(7, kStart + seconds{5}), seconds{7});
}

TEST(WatchSchedule, AllListedProcessesShareOneLimit) {
  WatchSchedule schedule;
  std::vector<pid_t> pids(50);
  std::iota(pids.begin(), pids.end(), 1);
  auto now = kStart;
  for (; now < kStart + seconds{60}; now += seconds{1}) {
    schedule.ask_all(pids, now);
    while (const auto pid = schedule.take(now)) schedule.done(*pid, now, costs(milliseconds{8}));
  }
  EXPECT_EQ(schedule.every(1, now), seconds{40}) << "50 times 8 ms is 1 % of it";
}

TEST(WatchSchedule, HasRoomForSoMany) {
  WatchSchedule schedule{{.processes = 2}};
  schedule.ask_all(std::vector<pid_t>{1, 2, 3}, kStart);
  EXPECT_TRUE(schedule.has(2));
  EXPECT_FALSE(schedule.has(3));
  EXPECT_TRUE(schedule.ask(3, kStart)) << "one that is only listed makes place";
  EXPECT_TRUE(schedule.ask(4, kStart));
  EXPECT_FALSE(schedule.ask(5, kStart)) << "two are asked about";
  EXPECT_TRUE(schedule.ask(5, kStart + seconds{15})) << "nobody asks about them any more";
}

TEST(WatchSchedule, HelpersAreNeededWhenLooksAreLate) {
  WatchSchedule schedule;
  EXPECT_EQ(schedule.helper_needed(1), std::nullopt);
  schedule.ask_all(std::vector<pid_t>{1, 2, 3}, kStart);
  EXPECT_EQ(schedule.take(kStart), 1);
  EXPECT_EQ(schedule.helper_needed(1), kStart + milliseconds{500});
  EXPECT_EQ(schedule.helper_needed(2), std::nullopt);
  EXPECT_EQ(schedule.take(kStart + milliseconds{500}), 2);
  EXPECT_EQ(schedule.helper_needed(2), kStart + milliseconds{1000});
  schedule.done(1, kStart + milliseconds{600}, {});
  EXPECT_EQ(schedule.helper_needed(1), kStart + milliseconds{1000});
}

TEST(CpuMeter, KnowsNothingAfterOneLook) {
  CpuMeter meter;
  meter.add(kStart, seconds{100});
  EXPECT_EQ(meter.percent(), std::nullopt);
}

TEST(CpuMeter, TellsTheLastSecondsAndNotTheWholeLife) {
  CpuMeter meter;
  meter.add(kStart, seconds{100});
  meter.add(kStart + seconds{2}, seconds{101});
  EXPECT_DOUBLE_EQ(*meter.percent(), 50);
  for (int i = 1; i <= 10; ++i) meter.add(kStart + seconds{2 + i}, seconds{101});
  EXPECT_DOUBLE_EQ(*meter.percent(), 0) << "it has been idle for ten seconds";
}

TEST(CpuMeter, LooksInQuickSuccessionCountOnce) {
  CpuMeter meter;
  meter.add(kStart, seconds{1});
  meter.add(kStart + milliseconds{1}, seconds{1} + milliseconds{10});
  EXPECT_EQ(meter.percent(), std::nullopt) << "a tick in a millisecond is not 1000 %";
}

TEST(CpuMeter, LooksOfLongAgoDoNotCount) {
  CpuMeter meter;
  meter.add(kStart, seconds{1});
  meter.add(kStart + seconds{100}, seconds{1});
  EXPECT_EQ(meter.percent(), std::nullopt);
  meter.add(kStart + seconds{101}, seconds{2});
  EXPECT_DOUBLE_EQ(*meter.percent(), 100);
}

}  // namespace
}  // namespace clrscope::live
