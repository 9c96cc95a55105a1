#include "collect/machine/switch_budget.h"

#include <gtest/gtest.h>

namespace clrscope::collect {
namespace {

using namespace std::chrono_literals;

TEST(SwitchBudget, LastsForEverWhileThereAreNoMoreThanItAllows) {
  TraceTime now{};
  SwitchBudget budget{1000, now};
  for (std::uint64_t switches = 100; switches <= 100'000; switches += 100)
    EXPECT_FALSE(budget.exceeded(switches, now += 100ms));
}

TEST(SwitchBudget, TakesTwoSecondsWorthAtOnceAndNoMore) {
  TraceTime now{};
  SwitchBudget budget{1000, now};
  EXPECT_FALSE(budget.exceeded(2000, now));
  EXPECT_TRUE(budget.exceeded(2001, now));
}

TEST(SwitchBudget, DoesNotSaveMoreThanThatForLater) {
  TraceTime now{};
  SwitchBudget budget{1000, now};
  EXPECT_FALSE(budget.exceeded(0, now += 1h));
  EXPECT_TRUE(budget.exceeded(2001, now));
}

TEST(SwitchBudget, IsUsedUpInTheEndWhenThereAreAlwaysMore) {
  TraceTime now{};
  SwitchBudget budget{1000, now};
  std::uint64_t switches = 0;
  int looks = 0;
  while (!budget.exceeded(switches += 110, now += 100ms)) ++looks;
  EXPECT_NEAR(looks, 190, 10);
}

}  // namespace
}  // namespace clrscope::collect
