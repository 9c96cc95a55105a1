#include "sinks/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace clrscope::sinks {
namespace {

using hub::CounterKind;
using hub::CounterValue;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_of(const Metric& metric) {
  std::string text = metric.name;
  for (const auto& point : metric.points)
    text += " " + point.suffix + "=" + number_text(point.value);
  return text;
}

TEST(MetricOf, NamesACounterAfterOpenTelemetryAndScalesIt) {
  const CounterValue value{.provider = "System.Runtime",
                           .name = "working-set",
                           .kind = CounterKind::kMean,
                           .value = 12.5};
  EXPECT_EQ(text_of(metric_of(value, Names::kOtel)), "dotnet.process.memory.working_set =12500000");
  EXPECT_EQ(text_of(metric_of(value, Names::kDotnet)), "working-set =12.5");
}

TEST(MetricOf, TellsACounterAsRateIncrementAndTotal) {
  const CounterValue value{.name = "orders",
                           .kind = CounterKind::kRate,
                           .meter = true,
                           .value = 30,
                           .total = 1000,
                           .interval = std::chrono::seconds{10}};
  const auto metric = metric_of(value, Names::kOtel);
  EXPECT_EQ(text_of(metric), "orders rate=3 =30 total=1000");
  EXPECT_EQ(metric.points[1].kind, PointKind::kIncrement);
}

TEST(MetricOf, TellsAHistogramAsItsQuantilesCountAndSum) {
  const CounterValue value{.name = "latency",
                           .kind = CounterKind::kHistogram,
                           .meter = true,
                           .count = 40,
                           .sum = 2.5,
                           .quantiles = {{0.5, 1}, {0.95, 2}, {0.999, 3}}};
  EXPECT_EQ(text_of(metric_of(value, Names::kOtel)),
            "latency p50=1 p95=2 p99_9=3 count=40 sum=2.5");
}

TEST(MetricOf, FindsQuantilesInBuckets) {
  const CounterValue value{.name = "pause",
                           .kind = CounterKind::kHistogram,
                           .meter = true,
                           .count = 100,
                           .buckets = {{10, 50}, {20, 49}, {kInfinity, 1}}};
  EXPECT_EQ(text_of(metric_of(value, Names::kOtel)).substr(0, 12), "pause p50=10");
  EXPECT_EQ(hub::quantile_of(value.buckets, 0.25), 5);
  EXPECT_EQ(hub::quantile_of(value.buckets, 0.99), 20);
  EXPECT_EQ(hub::quantile_of(value.buckets, 1), 20) << "above all bounds: at least the last";
  EXPECT_FALSE(hub::quantile_of({}, 0.5));
  EXPECT_FALSE(hub::quantile_of({{10, 0}}, 0.5));
}

TEST(MetricOf, LeavesOutWhatIsNoNumber) {
  for (const auto odd : {std::nan(""), kInfinity, -kInfinity})
    EXPECT_TRUE(metric_of({.name = "x", .value = odd}, Names::kOtel).points.empty());
}

TEST(NumberText, WritesWholeNumbersWithoutExponent) {
  EXPECT_EQ(number_text(1e15), "1000000000000000");
  EXPECT_EQ(number_text(-0.5), "-0.5");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(1e300), "1e+300");
}

TEST(PlainPath, LeavesNothingThatCouldEndALineOrLeaveAFolder) {
  EXPECT_EQ(plain_part("Shop.Api v2\n"), "Shop_Api_v2_");
  EXPECT_EQ(plain_part("../../etc"), "______etc");
  EXPECT_EQ(plain_path("..a..b/../c. "), "a.b_._c._");
  EXPECT_EQ(plain_path("größe"), "gr____e") << "a byte each";
}

TEST(PlainPath, CutsWhatIsTooLongAndKeepsItApart) {
  const auto one = plain_part(std::string(5000, 'x') + "1");
  EXPECT_LT(one.size(), 140U);
  EXPECT_NE(one, plain_part(std::string(5000, 'x') + "2"));
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "a.";
  EXPECT_LT(plain_path(deep).size(), 300U);
  EXPECT_NE(plain_path(deep), plain_path(deep + "b"));
}

TEST(PathTemplate, PutsPartsTogetherAndDropsEmptyOnes) {
  const Metric metric{.pid = 7,
                      .process = "Shop.Api",
                      .provider = "System.Runtime",
                      .name = "http.requests",
                      .tags = {{"route", "/a"}, {"status", "200"}}};
  const auto all = PathTemplate::parse("{prefix}.{host}.{process}-{pid}.{provider}.{name}.{tags}");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->expand("eu.shop", "web1.example", metric),
            "eu.shop.web1_example.Shop_Api-7.System_Runtime.http.requests.route._a.status.200");
  EXPECT_EQ(all->expand("", "h", {.name = "n"}), "h.-0.n");
  const auto literal = PathTemplate::parse("servers.{host}.net core.{name}");
  ASSERT_TRUE(literal);
  EXPECT_EQ(literal->expand("", "h", metric), "servers.h.net_core.http.requests");
}

TEST(PathTemplate, NamesTheWordsThereAre) {
  for (const auto* text : {"{prefix}.{nmae}", "{name", "{}"}) {
    const auto made = PathTemplate::parse(text);
    ASSERT_FALSE(made) << text;
    EXPECT_THAT(made.error().hint, HasSubstr("{process}"));
  }
}

TEST(SeriesLimit, RefusesNewOnesAndForgetsOldOnes) {
  SeriesLimit limit{2};
  auto now = TraceTime{std::chrono::hours{1}};
  EXPECT_TRUE(limit.admits("a", now));
  EXPECT_TRUE(limit.admits("b", now));
  EXPECT_FALSE(limit.admits("c", now));
  now += std::chrono::minutes{6};
  EXPECT_TRUE(limit.admits("b", now));
  now += std::chrono::minutes{6};
  EXPECT_TRUE(limit.admits("c", now)) << "a was not seen for long";
  EXPECT_FALSE(limit.admits("a", now));
}

}  // namespace
}  // namespace clrscope::sinks
