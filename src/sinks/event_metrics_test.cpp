#include "sinks/event_metrics.h"

#include <gtest/gtest.h>

#include <cstring>

namespace clrscope::sinks {
namespace {

using hub::CounterKind;
using std::chrono::seconds;

constexpr WallTime kNow{seconds{100}};

class EventMetricsTest : public testing::Test {
 protected:
  EventMetricsTest() { type_.fields = {{.name = "Duration", .type = TypeCode::kInt32}}; }

  // Events with these numbers, by a reader of a process.
  hub::Batch batch(std::vector<std::int32_t> numbers, std::uint64_t reader = 1, pid_t pid = 7) {
    auto block =
        std::make_shared<hub::Block>(std::make_shared<const hub::SourceInfo>(hub::SourceInfo{
                                         .id = reader, .pid = pid, .process = "shop"}),
                                     nullptr, reader, std::chrono::nanoseconds{}, 8);
    hub::Batch made;
    for (const auto number : numbers) {
      const Bytes payload{reinterpret_cast<const std::uint8_t*>(&number), sizeof number};
      Event event{};
      event.type = &type_;
      event.payload = payload;
      made.rows.push_back(block->add(event, {}));
    }
    made.block = block;
    return made;
  }

  EventType type_{.index = 3, .provider = "Shop", .name = "Sold", .id = 5};
};

TEST_F(EventMetricsTest, CountsEventsOfAKind) {
  EventMetrics metrics;
  metrics.add(batch({1, 2, 3}));
  metrics.add(batch({4}, 2));  // another session of the same process
  const auto values = metrics.take(kNow, seconds{2});
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].provider, "Shop");
  EXPECT_EQ(values[0].name, "Sold");
  EXPECT_EQ(values[0].pid, 7);
  EXPECT_EQ(values[0].process, "shop");
  EXPECT_EQ(values[0].kind, CounterKind::kRate);
  EXPECT_EQ(values[0].value, 4);
  EXPECT_EQ(shown_value(values[0]), 2);
}

TEST_F(EventMetricsTest, TellsZeroOnceWhenNoMoreCome) {
  EventMetrics metrics;
  metrics.add(batch({1}));
  (void)metrics.take(kNow, seconds{1});
  const auto values = metrics.take(kNow, seconds{1});
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].value, 0);
  EXPECT_TRUE(metrics.take(kNow, seconds{1}).empty());
}

TEST_F(EventMetricsTest, TellsTheMeanOfAField) {
  EventMetrics metrics{"Duration"};
  metrics.add(batch({10, -20, 40}));
  const auto values = metrics.take(kNow, seconds{1});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[1].name, "Sold.Duration");
  EXPECT_EQ(values[1].kind, CounterKind::kMean);
  EXPECT_EQ(values[1].value, 10);
  EXPECT_EQ(values[1].count, 3U);
  EXPECT_EQ(values[1].sum, 30);
  EXPECT_EQ(values[1].min, -20);
  EXPECT_EQ(values[1].max, 40);
}

TEST_F(EventMetricsTest, OnlyCountsEventsWithoutTheField) {
  EventMetrics metrics{"Size"};
  metrics.add(batch({10}));
  EXPECT_EQ(metrics.take(kNow, seconds{1}).size(), 1U);
}

TEST_F(EventMetricsTest, TellsProcessesApart) {
  EventMetrics metrics;
  metrics.add(batch({1}, 1, 7));
  metrics.add(batch({1, 2}, 2, 8));
  const auto values = metrics.take(kNow, seconds{1});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].value, 1);
  EXPECT_EQ(values[1].value, 2);
}

TEST_F(EventMetricsTest, CountsTooManyKindsTogether) {
  EventMetrics metrics;
  for (pid_t pid = 1; pid <= 1100; ++pid)
    metrics.add(batch({1}, static_cast<std::uint64_t>(pid), pid));
  const auto values = metrics.take(kNow, seconds{1});
  double sum = 0, other = 0;
  for (const auto& value : values) {
    sum += value.value;
    if (value.name == "other") other += value.value;
  }
  EXPECT_EQ(sum, 1100);
  EXPECT_EQ(other, 100);
}

}  // namespace
}  // namespace clrscope::sinks
