#include "hub/otel_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::hub {
namespace {

using testing::ElementsAre;
using testing::Pair;

OtelName of(std::string provider, std::string name, CounterKind kind, std::string unit = "") {
  CounterValue value{.provider = std::move(provider), .name = std::move(name)};
  value.kind = kind;
  value.unit = std::move(unit);
  return otel_name(value);
}

TEST(OtelNames, TranslatesEventCountersOfTheRuntime) {
  const auto allocated = of("System.Runtime", "alloc-rate", CounterKind::kRate, "B");
  EXPECT_EQ(allocated.name, "dotnet.gc.heap.total_allocated");
  EXPECT_EQ(allocated.unit, "By");
  EXPECT_EQ(allocated.kind, OtelKind::kCounter);
  EXPECT_TRUE(allocated.convention);
  const auto memory = of("System.Runtime", "working-set", CounterKind::kMean, "MB");
  EXPECT_EQ(memory.name, "dotnet.process.memory.working_set");
  EXPECT_EQ(memory.unit, "By");
  EXPECT_EQ(memory.scale, 1e6);
  EXPECT_EQ(memory.kind, OtelKind::kUpDownCounter);
  const auto heap = of("System.Runtime", "loh-size", CounterKind::kMean, "B");
  EXPECT_THAT(heap.tags, ElementsAre(Pair("gc.heap.generation", "loh")));
  const auto methods = of("System.Runtime", "methods-jitted-count", CounterKind::kMean);
  EXPECT_EQ(methods.kind, OtelKind::kCounter);
  EXPECT_TRUE(methods.total);  // EventCounters tell it as it stands, not as it grew
}

TEST(OtelNames, DoesNotCallInclusiveCollectionCountsByTheConventionsName) {
  const auto young = of("System.Runtime", "gen-0-gc-count", CounterKind::kRate);
  EXPECT_EQ(young.name, "dotnet.gc.collections.inclusive");
  EXPECT_FALSE(young.convention);
}

TEST(OtelNames, KeepsInstrumentsOfMeters) {
  CounterValue value{.provider = "System.Runtime", .name = "dotnet.gc.collections"};
  value.unit = "{collection}";
  value.kind = CounterKind::kRate;
  value.meter = true;
  const auto name = otel_name(value);
  EXPECT_EQ(name.name, "dotnet.gc.collections");
  EXPECT_EQ(name.unit, "{collection}");
  EXPECT_EQ(name.kind, OtelKind::kCounter);
  EXPECT_TRUE(name.convention);
}

TEST(OtelNames, NamesUnknownEventCountersByRule) {
  const auto queue = of("Shop-Orders", "queue-length", CounterKind::kMean);
  EXPECT_EQ(queue.name, "shop_orders.queue_length");
  EXPECT_EQ(queue.kind, OtelKind::kGauge);
  EXPECT_FALSE(queue.convention);
  const auto sent = of("Shop.Net", "Bytes Sent!", CounterKind::kRate, "MB");
  EXPECT_EQ(sent.name, "shop.net.bytes_sent_");
  EXPECT_EQ(sent.unit, "By");
  EXPECT_EQ(sent.scale, 1e6);
}

}  // namespace
}  // namespace clrscope::hub
