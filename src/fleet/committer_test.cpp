#include "fleet/committer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <semaphore>

#include "fleet/byte_budget.h"
#include "store/test_batches.h"

namespace clrscope::fleet {
namespace {

TEST(ByteBudget, IsForAllWhoHoldSomething) {
  ByteBudget budget{100};
  auto first = budget.take(60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.take(50));
  EXPECT_TRUE(budget.take(40));
  EXPECT_EQ(budget.used(), 60U);
  first.reset();
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(budget.take(1000)) << "a large one, alone";
}

store::Batch small(std::uint64_t number) {
  return store::make_batch({.number = number, .begin = wall_now().time_since_epoch().count()});
}
store::Batch large(std::uint64_t number) {
  auto batch = small(number);
  batch.names.emplace_back(40 << 20, 'x');
  return batch;
}

// One that is larger than all that may wait fits only when nothing waits.
TEST(Committer, TakesNoNewBatchWhileALargeOneWaits) {
  std::string folder = testing::TempDir() + "committer.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    const auto store = store::open_store("sqlite:" + folder + "/a.db", {});
    ASSERT_TRUE(store);
    std::counting_semaphore<> stored{0}, go_on{0};
    std::atomic<int> done{0};
    Committer committer{**store, [&](const store::Batch&) {
                          stored.release();
                          go_on.acquire();
                        }};
    const auto offer = [&](store::Batch batch) {
      Committer::Done count = [&](const auto&) { ++done; };
      return committer.offer(batch, count);
    };
    ASSERT_TRUE(offer(small(1)));
    stored.acquire();  // a transaction is under way
    ASSERT_TRUE(offer(small(2)));
    auto batch = large(3);
    Committer::Done count = [&](const auto&) { ++done; };
    ASSERT_FALSE(committer.offer(batch, count));
    bool waits = true;
    const std::function<void()> retry = [&] {
      if (!waits) return;
      committer.when_room(retry);
      waits = !committer.offer(batch, count, Committer::Line::kWaiting);
    };
    retry();
    EXPECT_FALSE(offer(small(4)));  // it would go before the large one, and so on
    go_on.release(10);
    while (done < 3) std::this_thread::yield();
    while (!offer(small(4))) std::this_thread::yield();
    while (done < 4) std::this_thread::yield();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace clrscope::fleet
