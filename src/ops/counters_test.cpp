#include "ops/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = hub::CounterRequest::Kind;

TEST(Counters, ReadsProvidersNamesAndKinds) {
  const auto requests = parse_counters({"System.Runtime[cpu-usage, gc-heap-size],Shop.Orders",
                                        "EventCounters\\Shop,Meter\\Shop[a]"});
  ASSERT_TRUE(requests.has_value());
  ASSERT_EQ(requests->size(), 4U);
  EXPECT_EQ((*requests)[0].provider, "System.Runtime");
  EXPECT_THAT((*requests)[0].names, ElementsAre("cpu-usage", "gc-heap-size"));
  EXPECT_EQ((*requests)[1].provider, "Shop.Orders");
  EXPECT_EQ((*requests)[2].kind, Kind::kEventCounters);
  EXPECT_EQ((*requests)[2].provider, "Shop");
  EXPECT_EQ((*requests)[3].kind, Kind::kMeter);
  EXPECT_THAT((*requests)[3].names, ElementsAre("a"));
  EXPECT_FALSE(parse_counters({"Shop[a"}).has_value());
  EXPECT_FALSE(parse_counters({"[a]"}).has_value());
}

hub::CounterValue value() {
  hub::CounterValue one{.time = WallTime{std::chrono::seconds{0}},
                        .pid = 7,
                        .provider = "Shop",
                        .name = "orders",
                        .display = "Orders, all",
                        .unit = "{order}"};
  one.tags = {{"route", "/a"}};
  one.kind = hub::CounterKind::kRate;
  one.value = 10;
  one.interval = std::chrono::seconds{2};
  return one;
}

TEST(Counters, WritesRowsAsDotnetCountersDoes) {
  CountersFile csv{CountersFile::Format::kCsv, {.pids = {7}}, WallTime{}};
  const std::vector<hub::CounterValue> values{value()};
  EXPECT_EQ(csv.begin() + csv.rows(values),
            "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n"
            "01/01/1970 00:00:00,Shop,\"Orders, all ({order} / 1 sec)[route=/a]\",Rate,5\n");
  CountersFile json{CountersFile::Format::kJson, {.pids = {7}}, WallTime{}};
  EXPECT_THAT(json.begin() + json.rows(values) + json.end(),
              HasSubstr(R"("counterType":"Rate","value":5})"));
}

TEST(Counters, SaysWhoseARowIsWhereThereAreSeveral) {
  auto one = value();
  one.process = "shop";
  const std::vector<hub::CounterValue> values{one};
  CountersFile csv{CountersFile::Format::kCsv, {.pids = {7, 8}}, WallTime{}};
  EXPECT_THAT(csv.begin(), HasSubstr("Mean/Increment,Process,Process Id\n"));
  EXPECT_THAT(csv.rows(values), HasSubstr("[route=/a]\",Rate,5,shop,7\n"));
  CountersFile json{CountersFile::Format::kJson, {.names = {"shop*"}}, WallTime{}};
  EXPECT_THAT(json.begin(), HasSubstr(R"("TargetProcess": "shop*")"));
  EXPECT_THAT(json.rows(values), HasSubstr(R"("value":5,"process":"shop","pid":7})"));
}

TEST(Counters, GivesARowForEachQuantile) {
  auto histogram = value();
  histogram.kind = hub::CounterKind::kHistogram;
  histogram.quantiles = {{0.5, 60}, {0.95, 71}};
  CountersFile csv{CountersFile::Format::kCsv, {.pids = {7}}, WallTime{}};
  const auto rows = csv.rows(std::vector<hub::CounterValue>{histogram});
  EXPECT_THAT(rows, HasSubstr("[route=/a,Percentile=50]\",Metric,60\n"));
  EXPECT_THAT(rows, HasSubstr("[route=/a,Percentile=95]\",Metric,71\n"));
}

}  // namespace
}  // namespace clrscope::ops
