#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "store/store.h"
#include "store/test_batches.h"

namespace clrscope::store {
namespace {

using std::chrono::seconds;

const std::int64_t kBegin = TestBatch{}.begin;
constexpr std::int64_t kSecond = 1'000'000'000;

class SeriesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = (std::filesystem::temp_directory_path() / "seriesXXXXXX").string();
    ASSERT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder;
    store_ = open_store("sqlite:" + folder_ + "/fleet.db", {.age = seconds{1LL << 32}}).value();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void add(const TestBatch& batch) {
    ASSERT_TRUE(store_->add(std::vector{make_batch(batch)}, WallTime{seconds{1'800'000'000}}));
  }
  std::vector<Series> series(GroupBy by, Selection selection = {.service = "shop"},
                             std::chrono::nanoseconds step = {}) {
    const SeriesQuery query{.selection = std::move(selection),
                            .by = by,
                            .step = step,
                            .now = WallTime{std::chrono::nanoseconds{kBegin + 100 * kSecond}}};
    return store_->series(query).value();
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(SeriesTest, GroupsByServiceVersionHostRouteAndStatus) {
  add({.host = "a", .version = "1", .requests = 100});
  add({.host = "b", .version = "1", .number = 1, .requests = 50});
  add({.host = "a", .service = "stock", .version = "2", .requests = 20});
  const auto names = [](const std::vector<Series>& all) {
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const auto& one : all) found.emplace_back(one.group, one.latency.requests);
    return found;
  };
  using Pairs = std::vector<std::pair<std::string, std::uint64_t>>;
  EXPECT_EQ(names(series(GroupBy::kService, {})), (Pairs{{"shop", 150}, {"stock", 20}}));
  EXPECT_EQ(names(series(GroupBy::kService)), (Pairs{{"shop", 150}}));
  EXPECT_EQ(names(series(GroupBy::kVersion)), (Pairs{{"1", 150}}));
  EXPECT_EQ(names(series(GroupBy::kHost)), (Pairs{{"a", 100}, {"b", 50}}));
  EXPECT_EQ(names(series(GroupBy::kStatus)), (Pairs{{"200", 147}, {"500", 3}}));
  EXPECT_EQ(series(GroupBy::kRoute).size(), 4U);
  EXPECT_FALSE(store_->series({.by = GroupBy::kHost}));
}

TEST_F(SeriesTest, RatesAreSinceTheFirstRequestAndPointsHaveTheirOwnPercentiles) {
  add({.requests = 100, .step = kSecond, .routes = 1});
  const auto all = series(GroupBy::kService, {.service = "shop"}, seconds{20});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(all[0].latency.per_second.value(), 1);
  EXPECT_EQ(all[0].latency.sampled, 100U);
  ASSERT_EQ(all[0].points.size(), 5U);
  std::vector<std::int64_t> durations;
  const auto batch = make_batch({.requests = 100, .step = kSecond, .routes = 1});
  for (std::size_t i = 20; i < 40; ++i)
    durations.push_back(static_cast<std::int64_t>(batch.requests[i].duration));
  std::sort(durations.begin(), durations.end());
  EXPECT_EQ(all[0].points[1].latency.p50.count(), durations[9]);
  EXPECT_EQ(all[0].points[1].latency.p95.count(), durations[18]);
  EXPECT_EQ(all[0].points[1].latency.p99.count(), durations[19]);
}

TEST_F(SeriesTest, TheSlowestRequestsOfABandComeFirst) {
  add({.requests = 200});
  std::vector<std::int64_t> durations;
  for (const auto& one : make_batch({.requests = 200}).requests)
    durations.push_back(static_cast<std::int64_t>(one.duration));
  std::sort(durations.rbegin(), durations.rend());
  const auto take = [&](double from, double to, std::size_t limit) {
    std::vector<std::int64_t> found;
    const auto listed = store_->slowest({{.service = "shop"}, from, to, limit}).value();
    for (const auto& one : listed) {
      found.push_back(one.duration.count());
      EXPECT_EQ(one.span_count, 8U);
      EXPECT_TRUE(one.spans.empty());
      EXPECT_FALSE(one.trace_id.empty());
    }
    return found;
  };
  EXPECT_EQ(take(0, 100, 3), (std::vector<std::int64_t>{durations.begin(), durations.begin() + 3}));
  EXPECT_EQ(take(0, 100, 1000), durations);
  EXPECT_EQ(take(50, 90, 1).front(), durations[20]);  // rank 180 of 200
  EXPECT_FALSE(store_->slowest({{.service = "shop"}, 90, 50, 1}));
}

// Chunks of ten minutes, which begin before requests of others that came later.
TEST_F(SeriesTest, PointsAreThoseOfTheSeriesByTime) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    add({.host = i % 3 == 0 ? "a" : "b",
         .service = i % 4 == 0 ? "stock" : "shop",
         .number = i,
         .requests = 100,
         .begin = kBegin + static_cast<std::int64_t>(i * 7 % 12) * 200 * kSecond,
         .step = 3 * kSecond});
    if (i == 8) {
      ASSERT_TRUE(store_->compact(WallTime{std::chrono::nanoseconds{kBegin + 9000 * kSecond}}));
    }
  }
  for (const auto by : {GroupBy::kService, GroupBy::kHost, GroupBy::kRoute, GroupBy::kStatus}) {
    SeriesQuery query{.selection = {.service = "shop"}, .by = by, .step = seconds{7}};
    if (by == GroupBy::kService) query.selection.service.clear();
    std::vector<std::tuple<WallTime, std::string, std::int64_t>> expected, found;
    const auto all = store_->series(query).value();
    for (const auto& one : all)
      for (const auto& point : one.points)
        expected.emplace_back(point.time, one.group, point.latency.p99.count());
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return std::get<WallTime>(a) < std::get<WallTime>(b);
    });
    ASSERT_TRUE(store_->points(query, [&](const std::string& group, const RoutePoint& point) {
      found.emplace_back(point.time, group, point.latency.p99.count());
      return Result<>{};
    }));
    EXPECT_GT(found.size(), 100U);
    EXPECT_EQ(found, expected);
  }
  EXPECT_FALSE(store_->points({.by = GroupBy::kHost, .step = seconds{1}}, {}));
}

TEST_F(SeriesTest, PointsNeedMemoryForAFewStepsOnly) {
  for (std::uint64_t i = 0; i < 20; ++i)
    add({.number = i,
         .requests = 200,
         .begin = kBegin + static_cast<std::int64_t>(i) * 600 * kSecond,
         .step = kSecond});
  store_.reset();
  store_ = open_store("sqlite:" + folder_ + "/fleet.db", {.age = seconds{1LL << 32}},
                      {.memory = 200'000})
               .value();
  const SeriesQuery query{
      .selection = {.service = "shop"}, .by = GroupBy::kService, .step = seconds{1}};
  EXPECT_EQ(store_->series(query).error().code, Errc::kTooLarge);
  std::size_t points = 0;
  const auto count = [&](const std::string&, const RoutePoint&) -> Result<> {
    ++points;
    return {};
  };
  EXPECT_TRUE(store_->points(query, count));
  EXPECT_EQ(points, 4000U);
  const auto refuse = [&](const std::string&, const RoutePoint&) -> Result<> {
    ++points;
    return fail(Errc::kGone, "the client left");
  };
  EXPECT_EQ(store_->points(query, refuse).error().code, Errc::kGone);
  EXPECT_EQ(points, 4001U);
  EXPECT_TRUE(store_->points(query, count)) << "its connection goes on";
}

}  // namespace
}  // namespace clrscope::store
