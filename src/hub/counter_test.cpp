#include "hub/counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::hub {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::chrono::seconds kSecond{1};

CounterValue made(CounterKind kind, double value, std::uint64_t count = 0) {
  CounterValue one{.provider = "Shop", .name = "orders"};
  one.kind = kind;
  one.value = value;
  one.count = count;
  one.interval = kSecond;
  return one;
}

// All values go in; the last of five makes the interval of five seconds whole.
CounterValue over_five(const std::vector<CounterValue>& values) {
  CounterAggregate aggregate{kSecond * 5};
  std::vector<CounterValue> done;
  for (const auto& value : values)
    for (auto& one : aggregate.add(value)) done.push_back(std::move(one));
  EXPECT_EQ(done.size(), 1U);
  return done.empty() ? CounterValue{} : done.front();
}

TEST(CounterAggregate, AddsIncrementsAndKeepsTheLastOfGauges) {
  const auto each = [](CounterKind kind) {
    std::vector<CounterValue> values;
    for (int i = 1; i <= 5; ++i) values.push_back(made(kind, i));
    return over_five(values);
  };
  EXPECT_EQ(each(CounterKind::kRate).value, 15);
  EXPECT_EQ(each(CounterKind::kRate).interval, kSecond * 5);
  EXPECT_EQ(each(CounterKind::kGauge).value, 5);
  EXPECT_EQ(each(CounterKind::kUpDown).value, 5);
}

TEST(CounterAggregate, WeighsMeansByTheirCounts) {
  auto low = made(CounterKind::kMean, 10, 1);
  low.min = 10, low.max = 10;
  auto high = made(CounterKind::kMean, 20, 3);
  high.min = 15, high.max = 25;
  const auto none = made(CounterKind::kMean, 0, 0);
  const auto mean = over_five({low, high, none, none, none});
  EXPECT_DOUBLE_EQ(mean.value, 17.5);
  EXPECT_EQ(mean.count, 4U);
  EXPECT_EQ(mean.min, 10);
  EXPECT_EQ(mean.max, 25);
}

TEST(CounterAggregate, KeepsTheLastOfPolledValues) {
  std::vector<CounterValue> values;
  for (int i = 1; i <= 5; ++i) {
    values.push_back(made(CounterKind::kMean, i, 1));
    values.back().min = values.back().max = i;
  }
  const auto polled = over_five(values);
  EXPECT_EQ(polled.value, 5);
  EXPECT_EQ(polled.count, 1U);
  EXPECT_EQ(polled.min, 1);
  EXPECT_EQ(polled.max, 5);
}

TEST(CounterAggregate, LeavesValuesOfTheRequestedIntervalAsTheyAre) {
  CounterAggregate aggregate{kSecond};
  auto almost = made(CounterKind::kRate, 7);
  almost.interval = std::chrono::milliseconds{990};
  EXPECT_EQ(aggregate.add(almost).size(), 1U);
}

TEST(Counter, ReadsTagsWithCommasInTheirValues) {
  EXPECT_THAT(parse_tags("a=1,b=x,y,c="),
              ElementsAre(Pair("a", "1"), Pair("b", "x,y"), Pair("c", "")));
  EXPECT_TRUE(parse_tags("").empty());
}

TEST(Counter, IsWantedByProviderNameAndKind) {
  auto value = made(CounterKind::kGauge, 1);
  EXPECT_TRUE(wanted({{.provider = "Shop"}}, value));
  EXPECT_TRUE(wanted({{.provider = "Shop", .names = {"orders"}}}, value));
  EXPECT_FALSE(wanted({{.provider = "Shop", .names = {"queue"}}}, value));
  EXPECT_FALSE(wanted({{.provider = "Other"}}, value));
  EXPECT_FALSE(wanted({{.provider = "Shop", .kind = CounterRequest::Kind::kMeter}}, value));
  value.meter = true;
  EXPECT_TRUE(wanted({{.provider = "Shop", .kind = CounterRequest::Kind::kMeter}}, value));
}

}  // namespace
}  // namespace clrscope::hub
