#include "sinks/metric_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/openmetrics.h"

namespace clrscope::sinks {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr WallTime kNow{std::chrono::hours{500'000}};
constexpr TraceTime kEnd{std::chrono::hours{5}};

hub::SourceInfo shop(pid_t pid = 7) {
  return {.id = 1, .pid = pid, .process = "shop", .runtime = "10.0.1"};
}

hub::CounterValue value_of(std::string name, std::string unit, hub::CounterKind kind,
                           double value) {
  return {.time = kNow,
          .pid = 7,
          .process = "shop",
          .provider = "Shop.Meter",
          .name = std::move(name),
          .unit = std::move(unit),
          .kind = kind,
          .meter = true,
          .value = value,
          .interval = 1s};
}

std::string text_of(const MetricStore& store, TextFormat format = TextFormat::kOpenMetrics,
                    MetricNames names = MetricNames::kOtel) {
  return metrics_text(store, names, format, {});
}

void add(MetricStore& store, const hub::CounterValue& value) { store.add(std::span{&value, 1}); }

TEST(MetricStore, SumsUpWhatCountersGrew) {
  MetricStore store{{}};
  store.came(shop());
  for (int i = 0; i < 3; ++i)
    add(store, value_of("shop.sold", "{item}", hub::CounterKind::kRate, 2));
  EXPECT_THAT(text_of(store), HasSubstr("# TYPE shop_sold counter\n"
                                        "shop_sold_total{process=\"shop\",pid=\"7\",runtime=\"10.0."
                                        "1\",otel_scope_name=\"Shop.Meter\"} 6\n"));
  EXPECT_THAT(text_of(store, TextFormat::kPrometheus), HasSubstr("# TYPE shop_sold_total counter"));
}

TEST(MetricStore, WritesASeriesOnceWhereNamesBecomeOne) {
  MetricStore store{{}};
  store.came(shop());
  for (const auto* name : {"shop.sold", "shop sold", "shop-sold"})
    add(store, value_of(name, "", hub::CounterKind::kGauge, 2));
  const auto text = text_of(store);
  const auto first = text.find("shop_sold{");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("shop_sold{", first + 1), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("clrscope_series_clashing 2\n"));
}

TEST(MetricStore, BelievesATotalThatIsTold) {
  MetricStore store{{}};
  auto value = value_of("shop.sold", "", hub::CounterKind::kRate, 2);
  value.total = 100;
  add(store, value);
  value.total = 105;
  add(store, value);
  EXPECT_THAT(text_of(store), HasSubstr("} 105\n"));
}

TEST(MetricStore, NamesEventCountersByConvention) {
  MetricStore store{{}};
  auto value = value_of("cpu-usage", "%", hub::CounterKind::kMean, 25);
  value.provider = "System.Runtime";
  value.meter = false;
  add(store, value);
  value.name = "gen-0-gc-count";
  value.kind = hub::CounterKind::kRate;
  value.value = 3;
  add(store, value);
  const auto text = text_of(store);
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_utilization_ratio gauge\n"
                              "# UNIT process_cpu_utilization_ratio ratio\n"));
  EXPECT_THAT(text, HasSubstr("} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("gc_heap_generation=\"gen0\"} 3\n"));
}

TEST(MetricStore, ShowsQuantilesAsASummaryAndBucketsAsAHistogram) {
  MetricStore store{{}};
  auto summary = value_of("shop.wait", "s", hub::CounterKind::kHistogram, 0.5);
  summary.quantiles = {{0.5, 0.5}, {0.95, 1}};
  summary.count = 10;
  summary.sum = 5;
  add(store, summary);
  add(store, summary);
  auto histogram = value_of("shop.pause", "ms", hub::CounterKind::kHistogram, 1);
  histogram.buckets = {{1, 2}, {10, 3}, {std::numeric_limits<double>::infinity(), 1}};
  histogram.count = 6;
  histogram.sum = 40;
  add(store, histogram);
  add(store, histogram);
  const auto text = text_of(store);
  EXPECT_THAT(text, HasSubstr("# TYPE shop_wait_seconds summary\n"));
  EXPECT_THAT(text, HasSubstr("quantile=\"0.95\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\"} 10\nshop_wait_seconds_count"));
  EXPECT_THAT(text, HasSubstr("# TYPE shop_pause_milliseconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("le=\"1.0\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("le=\"10.0\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("le=\"+Inf\"} 12\n"));
}

TEST(MetricStore, LimitsSeriesAndCountsWhatFoundNoPlace) {
  MetricStore store{{.limit = 10}};
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100; ++i) {
      auto value = value_of("shop.sold", "", hub::CounterKind::kRate, 1);
      value.tags = {{"customer", std::to_string(i)}};
      add(store, value);
    }
  EXPECT_EQ(store.series(), 10U);
  EXPECT_EQ(store.refused(), 180U);
}

TEST(MetricStore, ForgetsAProcessSomeTimeAfterItsEnd) {
  MetricStore store{{.keep = 60s}};
  store.came(shop());
  add(store, value_of("shop.sold", "", hub::CounterKind::kRate, 1));
  store.gone(shop(), kEnd);
  store.expire(kEnd + 59s);
  EXPECT_EQ(store.series(), 1U);
  store.expire(kEnd + 60s);
  EXPECT_EQ(store.series(), 0U);
  EXPECT_EQ(store.processes(), 0U);
  EXPECT_TRUE(store.families().empty());
}

TEST(MetricStore, TellsAnotherProcessWithTheSameNumberFromTheFirst) {
  MetricStore store{{}};
  store.came(shop());
  add(store, value_of("shop.sold", "", hub::CounterKind::kRate, 5));
  store.gone(shop(), kEnd);
  store.came(shop());
  add(store, value_of("shop.sold", "", hub::CounterKind::kRate, 1));
  EXPECT_THAT(text_of(store), HasSubstr("} 1\n"));
}

TEST(Openmetrics, KeepsOddNamesAndValuesInTheirPlace) {
  MetricStore store{{}};
  auto value = value_of("2 odd\nname\"}", "{a b}/s", hub::CounterKind::kGauge, 1);
  value.process = "a\"b\\c\nd\xff";
  value.tags = {{"pid", "mine"}, {"le", "x"},  {"a.b", "1"},
                {"a-b", "2"},    {"", "none"}, {"__n", "y"}};
  value.display = "two\nlines";
  add(store, value);
  const auto text = text_of(store);
  EXPECT_THAT(text, HasSubstr("# HELP _2_odd_name_per_second two\\nlines\n"));
  EXPECT_THAT(text, HasSubstr("process=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\""));
  EXPECT_THAT(text, HasSubstr("pid=\"7\""));
  EXPECT_THAT(text, HasSubstr("tag_pid=\"mine\""));
  EXPECT_THAT(text, HasSubstr("tag_le=\"x\""));
  EXPECT_THAT(text, HasSubstr("a_b=\"1;2\""));
  EXPECT_THAT(text, Not(HasSubstr("__n")));
}

TEST(Openmetrics, GivesOneNameOneType) {
  MetricStore store{{}};
  add(store, value_of("shop.x", "", hub::CounterKind::kGauge, 1));
  auto other = value_of("shop.x", "", hub::CounterKind::kHistogram, 1);
  other.quantiles = {{0.5, 1}};
  add(store, other);
  const auto text = text_of(store);
  EXPECT_THAT(text, HasSubstr("# TYPE shop_x gauge\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE shop_x_summary summary\n"));
}

TEST(PrometheusName, FollowsOpenTelemetrysRules) {
  EXPECT_EQ(prometheus_name("dotnet.gc.collections", "{collection}", MetricKind::kCounter),
            "dotnet_gc_collections");
  EXPECT_EQ(prometheus_name("dotnet.process.memory.working_set", "By", MetricKind::kUpDown),
            "dotnet_process_memory_working_set_bytes");
  EXPECT_EQ(prometheus_name("a.total", "s", MetricKind::kCounter), "a_seconds");
  EXPECT_EQ(prometheus_name("x.seconds", "s", MetricKind::kGauge), "x_seconds");
  EXPECT_EQ(prometheus_name("x", "By/s", MetricKind::kGauge), "x_bytes_per_second");
  EXPECT_EQ(prometheus_name("x", "1", MetricKind::kGauge), "x_ratio");
  EXPECT_EQ(prometheus_name("x", "1", MetricKind::kCounter), "x");
  EXPECT_EQ(prometheus_name("x", "requests", MetricKind::kGauge), "x_requests");
  EXPECT_EQ(prometheus_name("", "", MetricKind::kGauge), "_");
}

// What the documentation of dotnet-monitor shows of its page.
TEST(DotnetMonitorName, IsWrittenAsDotnetMonitorDoes) {
  EXPECT_EQ(dotnet_monitor_name("System.Runtime", "cpu-usage", "%"),
            "systemruntime_cpu_usage_ratio");
  EXPECT_EQ(dotnet_monitor_name("System.Runtime", "working-set", "MB"),
            "systemruntime_working_set_bytes");
  EXPECT_EQ(dotnet_monitor_name("System.Runtime", "gen-0-gc-count", "count"),
            "systemruntime_gen_0_gc_count");
  EXPECT_EQ(dotnet_monitor_name("!@#", "a", ""), "__a");
}

TEST(DotnetMonitorNames, KeepRatesAndUnits) {
  MetricStore store{{.names = MetricNames::kDotnetMonitor}};
  auto value = value_of("exception-count", "", hub::CounterKind::kRate, 10);
  value.provider = "System.Runtime";
  value.meter = false;
  value.interval = 5s;
  add(store, value);
  add(store, value);
  value.name = "working-set";
  value.unit = "MB";
  value.kind = hub::CounterKind::kGauge;
  value.value = 3;
  add(store, value);
  const auto text = text_of(store, TextFormat::kPrometheus, MetricNames::kDotnetMonitor);
  EXPECT_THAT(text, HasSubstr("# TYPE systemruntime_exception_count gauge\n"));
  EXPECT_THAT(text, HasSubstr("} 2\n"));
  EXPECT_THAT(text, HasSubstr("systemruntime_working_set_bytes"));
  EXPECT_THAT(text, HasSubstr("} 3000000\n"));
}

}  // namespace
}  // namespace clrscope::sinks
