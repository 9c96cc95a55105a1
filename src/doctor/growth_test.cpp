#include "doctor/growth.h"

#include <gtest/gtest.h>

namespace clrscope::doctor {
namespace {

Series each_second(std::initializer_list<double> values) {
  Series series;
  for (const auto value : values) series.emplace_back(std::chrono::seconds{series.size()}, value);
  return series;
}

TEST(Growth, IsARateAndSteadyWhenItHardlyEverFalls) {
  const auto growth = growth_of(each_second({10, 20, 30, 30, 50}));
  EXPECT_EQ(growth.total, 40);
  EXPECT_EQ(growth.per_second, 10);
  EXPECT_TRUE(growth.steady);
}

TEST(Growth, OfOneLeapOrOfUpsAndDownsIsNotSteady) {
  EXPECT_FALSE(growth_of(each_second({10, 10, 10, 10, 50})).steady);
  EXPECT_FALSE(growth_of(each_second({10, 50, 10, 50, 20})).steady);
  EXPECT_FALSE(growth_of(each_second({50, 40, 30})).steady);
}

TEST(Growth, OfFewValuesIsNothing) {
  EXPECT_EQ(growth_of({}).total, 0);
  EXPECT_FALSE(growth_of(each_second({1, 2})).steady);
}

}  // namespace
}  // namespace clrscope::doctor
