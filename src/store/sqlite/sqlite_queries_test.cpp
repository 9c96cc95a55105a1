#include <gtest/gtest.h>

#include <algorithm>

#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

class SqliteQueries : public SqliteStoreTest {};

// As ClickHouse does.
TEST_F(SqliteQueries, OrdersEqualSeriesByNameAndEqualRequestsByTrace) {
  open();
  auto batch = make_batch({.requests = 12, .spans = 0, .routes = 4});
  std::reverse(batch.names.begin() + 1, batch.names.begin() + 5);  // names get their ids in turn
  for (auto& request : batch.requests) request.duration = request.running = 5000;
  ASSERT_TRUE(store_->add(std::vector{batch}, kNow));
  std::vector<std::string> routes;
  const auto found = store_->routes({.service = "shop"}, {}).value();
  for (const auto& one : found) routes.push_back(one.route);
  EXPECT_EQ(routes, (std::vector<std::string>{"GET /route/0", "GET /route/1", "GET /route/2",
                                              "GET /route/3"}));
  const auto all = store_->slowest({.selection = {.service = "shop"}}).value();
  const auto few = store_->slowest({.selection = {.service = "shop"}, .limit = 5}).value();
  ASSERT_EQ(all.size(), 12U);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &StoredRequest::trace_id));
  ASSERT_EQ(few.size(), 5U);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].trace_id, all[i].trace_id);
}

TEST_F(SqliteQueries, QueriesThatCollectTooMuchAreRefused) {
  open();
  add({.requests = 100});
  store_.reset();
  for (const std::uint64_t memory : {1'000, 100'000}) {
    const bool enough = memory > 50'000;
    store_ = open_store(where(), {}, {.memory = memory}).value();
    const Selection shop{.service = "shop"};
    const auto series = store_->series({.selection = shop, .by = GroupBy::kRoute});
    EXPECT_EQ(series.has_value(), enough);
    EXPECT_EQ(store_->slowest({.selection = shop, .from_percentile = 1}).has_value(), enough);
    const auto flame = store_->flame({.selection = shop, .from_percentile = 1});
    EXPECT_EQ(flame.has_value(), enough);
    if (!series) {
      EXPECT_EQ(series.error().code, Errc::kTooLarge);
      EXPECT_NE(series.error().hint.find("--query-memory"), std::string::npos);
    }
    store_.reset();
  }
}

TEST_F(SqliteQueries, HostsOfARangeAreThoseThatSentInIt) {
  open();
  add({.host = "web-1"}, kNow);
  add({.host = "web-2", .version = "2.0"}, kNow + std::chrono::hours{1});
  const auto time = [](WallTime one) { return one.time_since_epoch().count(); };
  const TimeRange later{.from = time(kNow) + 1};
  ASSERT_EQ(store_->hosts(later).value().size(), 1U);
  EXPECT_EQ(store_->hosts(later).value()[0].host, "web-2");
  EXPECT_EQ(store_->senders(later).value(), (std::vector<Sender>{{"shop", "2.0", "web-2"}}));
  EXPECT_EQ(store_->senders({}).value().size(), 2U);
  EXPECT_EQ(store_->hosts({.to = time(kNow)}).value().size(), 0U);
}

}  // namespace
}  // namespace clrscope::store
