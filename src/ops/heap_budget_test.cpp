#include "ops/heap_budget.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr HeapBudget kTenSeconds{.duration = seconds{10}, .looks = 3, .cpus = 2};

TEST(HeapBudget, PauseDecidesWhetherBusyOrNot) {
  EXPECT_FALSE(too_dear(kTenSeconds, {.pause = milliseconds{66}}));
  const auto why = too_dear(kTenSeconds, {.pause = milliseconds{67}});
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("more than 2 % of the time"));
}

TEST(HeapBudget, OurCpuTimeCountsOnlyForABusyProcess) {
  constexpr LookCost kLook{.pause = milliseconds{5}, .cpu = milliseconds{67}};
  EXPECT_FALSE(too_dear(kTenSeconds, kLook));
  auto busy = kTenSeconds;
  busy.busy = true;
  const auto why = too_dear(busy, kLook);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("no CPU is idle"));
  EXPECT_FALSE(too_dear(busy, {.pause = milliseconds{5}, .cpu = milliseconds{66}}));
  busy.duration = seconds{20};
  EXPECT_FALSE(too_dear(busy, kLook));
}

TEST(HeapBudget, BusyIsWhoTakesTheCpuTimeThatOthersWouldNeed) {
  const BusyMeter::Reading from{};
  const auto after = [](milliseconds used, milliseconds idle) {
    return BusyMeter::Reading{.time = seconds{1}, .used = used, .idle = idle};
  };
  EXPECT_TRUE(BusyMeter::is_busy(from, after(milliseconds{1300}, milliseconds{100})));
  EXPECT_FALSE(BusyMeter::is_busy(from, after(milliseconds{1300}, milliseconds{600})));
  EXPECT_FALSE(BusyMeter::is_busy(from, after(milliseconds{400}, milliseconds{0})));
}

TEST(HeapBudget, IdleTimeIsThatOfAllCpus) {
  EXPECT_EQ(idle_time("cpu  10 0 20 300 50 0 0 0\ncpu0 5 0 10 150 25 0 0 0\n", 100),
            milliseconds{3500});
  EXPECT_FALSE(idle_time("cpu  10 0 20 300", 100));
  EXPECT_FALSE(idle_time("cpu  10 0 x 300 50", 100));
  EXPECT_FALSE(idle_time("", 100));
  EXPECT_FALSE(idle_time("intr 10 0 20 300 50", 100));
}

TEST(HeapBudget, OwnProcessCanBeRead) {
  const auto reading = BusyMeter::read(::getpid());
  ASSERT_TRUE(reading);
  EXPECT_GT(reading->idle.count(), 0);
  EXPECT_FALSE(BusyMeter::read(-1));
}

}  // namespace
}  // namespace clrscope::ops
