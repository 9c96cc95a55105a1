#include "collect/machine/budget.h"

#include <gtest/gtest.h>

namespace clrscope::collect {
namespace {

using namespace std::chrono_literals;

TEST(Budget, LastsForEverWhileThereAreNoMoreThanItAllows) {
  TraceTime now{};
  Budget budget{1000, 5, now};
  for (std::uint64_t switches = 100; switches <= 100'000; switches += 100)
    EXPECT_FALSE(budget.exceeded(switches, now += 100ms));
}

TEST(Budget, TakesSoManySecondsWorthAtOnceAndNoMore) {
  TraceTime now{};
  Budget budget{1000, 5, now};
  EXPECT_FALSE(budget.exceeded(5000, now));
  EXPECT_TRUE(budget.exceeded(5001, now));
}

TEST(Budget, DoesNotSaveMoreThanThatForLater) {
  TraceTime now{};
  Budget budget{1000, 5, now};
  EXPECT_FALSE(budget.exceeded(0, now += 1h));
  EXPECT_TRUE(budget.exceeded(5001, now));
}

TEST(Budget, IsUsedUpInTheEndWhenThereAreAlwaysMore) {
  TraceTime now{};
  Budget budget{1000, 5, now};
  std::uint64_t switches = 0;
  int looks = 0;
  while (!budget.exceeded(switches += 110, now += 100ms)) ++looks;
  EXPECT_NEAR(looks, 490, 10);
  EXPECT_NEAR(static_cast<double>(budget.per_second()), 1100, 1);
}

TEST(Budget, TellsTheRateOfTheLastMoments) {
  TraceTime now{};
  Budget budget{1000, 5, now};
  for (int second = 0; second < 60; ++second) (void)budget.exceeded(0, now += 1s);
  for (std::uint64_t switches = 0; switches < 20'000; switches += 1000)
    (void)budget.exceeded(switches, now += 100ms);
  EXPECT_GT(budget.per_second(), 5000U);
}

}  // namespace
}  // namespace clrscope::collect
