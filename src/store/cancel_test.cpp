#include "store/cancel.h"

#include <thread>

#include "store/sqlite/database.h"
#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

using CancelTest = SqliteStoreTest;

TEST_F(CancelTest, QueriesOfACallerWhoLeftFailAndLaterOnesSucceed) {
  open();
  add({.requests = 30, .samples = 2});
  std::stop_source stop;
  stop.request_stop();
  const Selection shop{.service = "shop"};
  {
    const CancelScope scope{stop.get_token()};
    const auto flame = store_->flame({.selection = shop});
    ASSERT_FALSE(flame);
    EXPECT_EQ(flame.error().code, Errc::kGone);
    EXPECT_FALSE(store_->series({.selection = shop, .by = GroupBy::kRoute}));
    EXPECT_FALSE(store_->slowest({.selection = shop}));
  }
  EXPECT_EQ(store_->flame({.selection = shop})->requests, 30U);
}

TEST_F(CancelTest, AnEndlessStatementEndsWhenItIsInterrupted) {
  const auto database = Database::open(file(), Database::Mode::kWrite);
  ASSERT_TRUE(database);
  std::stop_source stop;
  const std::stop_callback interrupt{stop.get_token(), [&] { (*database)->interrupt(); }};
  auto endless = (*database)->prepare(
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n");
  ASSERT_TRUE(endless);
  // SQLite forgets an interrupt that comes before the statement runs: ask until it has ended.
  const std::jthread leaves{[&](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      stop.request_stop();
      (*database)->interrupt();
      std::this_thread::yield();
    }
  }};
  const auto row = endless->step();
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, Errc::kGone);
}

}  // namespace
}  // namespace clrscope::store
