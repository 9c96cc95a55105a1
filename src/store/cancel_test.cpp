#include "store/cancel.h"

#include <atomic>
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

// An interrupt that reached the end of its transaction left a connection in the pool that could
// begin no other one. Whether it is hit depends on the moment: many are tried.
TEST_F(CancelTest, AConnectionIsUsedAgainWheneverItsQueryWasCancelled) {
  open();
  add({.requests = 3});
  const Selection shop{.service = "shop"};
  for (int round = 0; round < 500; ++round) {
    std::stop_source stop;
    std::atomic<bool> begun{false};
    const std::jthread leaves{[&] {
      while (!begun) std::this_thread::yield();
      std::atomic<int> spent{0};
      while (spent < round % 60 * 20) ++spent;
      stop.request_stop();
    }};
    {
      const CancelScope scope{stop.get_token()};
      begun = true;
      for (int i = 0; i < 20 && store_->slowest({.selection = shop}); ++i) {
      }
    }
    const auto next = store_->slowest({.selection = shop});
    ASSERT_TRUE(next) << next.error().what << " in round " << round;
    EXPECT_EQ(next->size(), 3U);
  }
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
