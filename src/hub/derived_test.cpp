#include "hub/derived.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/series_limit.h"

namespace clrscope::hub {
namespace {

using nettrace::Known;

// An event of the runtime with a payload of little-endian numbers.
class Runtime {
 public:
  explicit Runtime(DerivedMetrics& metrics) : metrics_(metrics) {}

  template <class... Parts>
  void says(std::uint32_t id, std::uint32_t version, std::chrono::microseconds when,
            const Parts&... parts) {
    EventType type{
        .provider = std::string{kRuntimeProvider}, .name = "", .id = id, .version = version};
    std::vector<std::uint8_t> payload;
    const auto append = [&](const auto& part) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&part);
      payload.insert(payload.end(), bytes, bytes + sizeof part);
    };
    (append(parts), ...);
    Event event{.type = &type, .time = TraceTime{when}, .thread = ThreadId{7}, .payload = payload};
    metrics_.on_event(event, nettrace::known_event(type));
  }

 private:
  DerivedMetrics& metrics_;
};

constexpr std::uint32_t kGcStart = 1, kRestartBegin = 7, kSuspendBegin = 9;

const CounterValue* find(const std::vector<CounterValue>& values, std::string_view name,
                         std::string_view tag = {}) {
  for (const auto& value : values)
    if (value.name == name && (tag.empty() || (!value.tags.empty() && value.tags[0].second == tag)))
      return &value;
  return nullptr;
}

TEST(DerivedMetrics, CountsCollectionsAndMeasuresPauses) {
  DerivedMetrics metrics{8};
  Runtime runtime{metrics};
  using std::chrono::microseconds;
  for (int i = 0; i < 3; ++i) {
    const auto at = microseconds{1000 + i * 100'000};
    runtime.says(kSuspendBegin, 1, at, std::uint32_t{1}, std::uint32_t(i), std::uint16_t{0});
    runtime.says(kGcStart, 2, at, std::uint32_t(i), std::uint32_t{i == 2 ? 2U : 0U},
                 std::uint32_t{0}, std::uint32_t{0}, std::uint16_t{0}, std::uint64_t{0});
    runtime.says(kRestartBegin, 1, at + microseconds{i == 2 ? 30'000 : 700}, std::uint16_t{0});
  }
  // Stopped for another reason than a collection.
  runtime.says(kSuspendBegin, 1, microseconds{900'000}, std::uint32_t{3}, std::uint32_t{0},
               std::uint16_t{0});
  runtime.says(kRestartBegin, 1, microseconds{990'000}, std::uint16_t{0});
  const auto values = metrics.take(std::chrono::seconds{1});
  ASSERT_NE(find(values, "dotnet.gc.collections", "gen0"), nullptr);
  EXPECT_EQ(find(values, "dotnet.gc.collections", "gen0")->value, 2);
  EXPECT_EQ(find(values, "dotnet.gc.collections", "gen2")->value, 1);
  const auto* pause = find(values, "dotnet.gc.pause.duration");
  ASSERT_NE(pause, nullptr);
  EXPECT_EQ(pause->kind, CounterKind::kHistogram);
  EXPECT_EQ(pause->count, 3U);
  EXPECT_NEAR(*pause->sum, 0.0314, 1e-9);
  EXPECT_TRUE(pause->quantiles.empty());
  const auto in_bucket = [&](double upper) {
    for (const auto& bucket : pause->buckets)
      if (bucket.upper == upper) return bucket.count;
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(in_bucket(0.001), 2U);
  EXPECT_EQ(in_bucket(0.05), 1U);
  EXPECT_NEAR(find(values, "dotnet.gc.pause.time")->value, 0.0314, 1e-9);
  // The next interval starts from nothing, totals go on.
  const auto next = metrics.take(std::chrono::seconds{1});
  EXPECT_EQ(find(next, "dotnet.gc.pause.duration")->count, 0U);
  EXPECT_EQ(find(next, "dotnet.gc.collections", "gen0")->value, 0);
  EXPECT_EQ(find(next, "dotnet.gc.collections", "gen0")->total, 2);
}

TEST(DerivedMetrics, AsksForTheEventsThatItNeedsOnly) {
  const auto pauses = providers_for_derived({"dotnet.gc.pause.duration"});
  EXPECT_EQ(pauses.at(0).keywords, 0x1U);
  EXPECT_EQ(pauses.at(0).level, 4U);
  const auto all = providers_for_derived({});
  EXPECT_EQ(all.at(0).keywords, 0x1c011U);
  EXPECT_EQ(all.at(0).level, 5U);
}

TEST(CounterAggregate, AddsBuckets) {
  CounterAggregate aggregate{std::chrono::seconds{2}};
  CounterValue value{.name = "pause"};
  value.kind = CounterKind::kHistogram;
  value.interval = std::chrono::seconds{1};
  value.buckets = {{1, 3}, {2, 1}};
  value.count = 4;
  EXPECT_TRUE(aggregate.add(value).empty());
  const auto done = aggregate.add(value);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].buckets, (std::vector<Bucket>{{1, 6}, {2, 2}}));
  EXPECT_EQ(done[0].count, 8U);
  EXPECT_NEAR(done[0].value, 4.0 / 6, 1e-9);
}

TEST(CounterAggregate, DoesNotCountWhatIsLongPastToNow) {
  CounterAggregate aggregate{std::chrono::seconds{2}};
  CounterValue value{.name = "orders"};
  value.kind = CounterKind::kRate;
  value.value = 5;
  value.interval = std::chrono::seconds{1};
  EXPECT_TRUE(aggregate.add(value).empty());
  value.time += std::chrono::seconds{60};
  const auto done = aggregate.add(value);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].value, 5);
  EXPECT_EQ(done[0].interval, std::chrono::seconds{1});
}

TEST(SeriesLimit, KeepsThoseThatCameFirst) {
  SeriesLimit limit{2, 3};
  const auto admits = [&](std::string name, std::string tag, pid_t pid = 1) {
    CounterValue value{.pid = pid, .provider = "Shop", .name = std::move(name)};
    value.tags = {{"user", std::move(tag)}};
    return limit.admits(value);
  };
  EXPECT_TRUE(admits("orders", "a"));
  EXPECT_TRUE(admits("orders", "b"));
  EXPECT_FALSE(admits("orders", "c"));
  EXPECT_TRUE(admits("orders", "a"));
  EXPECT_TRUE(admits("carts", "a"));
  EXPECT_FALSE(admits("carts", "b"));  // the process has its three
  EXPECT_TRUE(admits("carts", "b", 2));
  limit.forget(1);
  EXPECT_TRUE(admits("orders", "c"));
}

TEST(DerivedMetrics, MeasuresHowLongThePoolsWorkWaits) {
  DerivedMetrics metrics{8};
  const auto says = [&](std::uint32_t id, std::int64_t work, int millisecond) {
    EventType type{.provider = std::string{kFrameworkProvider}, .name = "", .id = id};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&work);
    Event event{.type = &type,
                .time = TraceTime{std::chrono::milliseconds{millisecond}},
                .payload = {bytes, sizeof work}};
    metrics.on_event(event, nettrace::known_event(type));
  };
  constexpr std::uint32_t kEnqueue = 30, kDequeue = 31;
  says(kDequeue, 5, 1);  // queued before anybody listened
  says(kEnqueue, 6, 2);
  says(kEnqueue, 7, 3);
  says(kEnqueue, 8, 3);
  says(kDequeue, 7, 8);
  says(kDequeue, 6, 42);
  const auto values = metrics.take(std::chrono::seconds{1});
  const auto* waits = find(values, "dotnet.thread_pool.queue.wait");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->count, 2U);
  EXPECT_NEAR(*waits->sum, 0.045, 1e-9);
  EXPECT_EQ(find(values, "dotnet.thread_pool.queue.length")->value, 1);
}

TEST(DerivedMetrics, AsksForThePoolsWorkOnlyByName) {
  for (const auto& request : providers_for_derived({})) EXPECT_NE(request.name, kFrameworkProvider);
  const auto named = providers_for_derived({"dotnet.thread_pool.queue.wait"});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].name, kFrameworkProvider);
}

}  // namespace
}  // namespace clrscope::hub
