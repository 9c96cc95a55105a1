// CPU samples of requests: stored, found again, merged and summed.
#include <algorithm>
#include <map>

#include "store/sqlite/database.h"
#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

constexpr FlameWeight kCpu = FlameWeight::kCpu;

class SamplesTest : public SqliteStoreTest {
 protected:
  static TestBatch shop(std::uint64_t number) {
    return {.number = number,
            .requests = 20,
            .spans = 4,
            .begin = kBegin + static_cast<std::int64_t>(number) * 11'000'000'000,
            .samples = number % 2 == 0 ? 7U : 0U};
  }
  // Samples by leaf, as the batches have them.
  static std::map<std::string, std::uint64_t> expected(std::uint64_t batches) {
    std::map<std::string, std::uint64_t> counts;
    for (std::uint64_t number = 0; number < batches; ++number) {
      const auto batch = make_batch(shop(number));
      for (const auto stack : batch.samples.stack)
        ++counts[batch.names[batch.stacks.method[stack - 1] - 1]];
    }
    return counts;
  }
  static std::map<std::string, std::uint64_t> counts_of(const Flame& flame) {
    std::map<std::string, std::uint64_t> counts;
    for (std::size_t i = 0; i < flame.name.size(); ++i)
      if (flame.calls[i] > 0) counts[flame.names[flame.name[i]]] += flame.calls[i];
    return counts;
  }
  void expect_request() {
    const auto batch = make_batch(shop(2));
    const auto found = store_->find(test_trace(2, 3)).value();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].sample_count, 7U);
    std::uint64_t samples = 0, cpu = 0;
    for (const auto& stack : found[0].stacks) {
      samples += stack.samples;
      cpu += static_cast<std::uint64_t>(stack.cpu.count());
    }
    EXPECT_EQ(samples, 7U);
    EXPECT_EQ(cpu, 7 * 10'000'000U + 21U);
    // Its fourth sample: in the third span, the innermost method first.
    const auto at = 3 * 7 + 3;
    const auto in_span = std::ranges::find(found[0].stacks, 3U, &StoredStack::span);
    ASSERT_NE(in_span, found[0].stacks.end());
    const auto stack = batch.samples.stack[at];
    EXPECT_EQ(in_span->frames.front(), batch.names[batch.stacks.method[stack - 1] - 1]);
    EXPECT_EQ(in_span->frames.back(), batch.names[batch.stacks.method[0] - 1]);
  }
};

TEST_F(SamplesTest, AreFoundWithTheirRequestBeforeAndAfterAMerge) {
  open();
  for (std::uint64_t number = 0; number < 4; ++number) add(shop(number));
  expect_request();
  ASSERT_TRUE(store_->compact(kNow + std::chrono::minutes{20}));
  auto reader = Database::open(file(), Database::Mode::kRead).value();
  auto chunks = reader->prepare("SELECT count(*), sum(samples) FROM chunk").value();
  ASSERT_TRUE(chunks.step().value());
  EXPECT_EQ(chunks.integer(0), 1);
  EXPECT_EQ(chunks.integer(1), 2 * 20 * 7);
  expect_request();
  EXPECT_EQ(store_->find(test_trace(1, 3)).value()[0].sample_count, 0U);
}

TEST_F(SamplesTest, MakeAFlameGraphOfCpuTime) {
  open();
  for (std::uint64_t number = 0; number < 4; ++number) add(shop(number));
  const Selection all{.service = "shop"};
  for (int merged = 0; merged < 2; ++merged) {
    const auto flame = store_->flame({.selection = all, .weight = kCpu}).value();
    EXPECT_EQ(flame.samples, 2 * 20 * 7U);
    EXPECT_EQ(flame.spans, 0U);
    EXPECT_EQ(flame.requests, 40U);
    EXPECT_EQ(static_cast<std::uint64_t>(flame.total.count()), 40 * (7 * 10'000'000U + 21));
    EXPECT_EQ(counts_of(flame), expected(4));
    const auto slowest =
        store_->flame({.selection = all, .from_percentile = 50, .weight = kCpu}).value();
    EXPECT_GT(slowest.samples, 0U);
    EXPECT_LT(slowest.samples, flame.samples);
    auto route = all;
    route.route = "GET /route/1";
    EXPECT_EQ(store_->flame({.selection = route, .weight = kCpu}).value().requests, 10U);
    EXPECT_EQ(store_->flame({.selection = all}).value().spans, 4 * 20 * 4U);
    ASSERT_TRUE(store_->compact(kNow + std::chrono::minutes{20}));
  }
}

TEST_F(SamplesTest, AreCountedPerHost) {
  open();
  add(shop(0));
  auto second = make_batch(shop(2));
  second.recording.lost_samples = 5;
  ASSERT_TRUE(store_->add(std::vector{second}, kNow));
  const auto host = store_->hosts().value()[0];
  EXPECT_EQ(host.written_samples, 3 * 20 * 7U);  // batch 1 never came
  EXPECT_EQ(host.stored_samples, 2 * 20 * 7U);
  EXPECT_EQ(host.lost_samples, 20 * 7U);
  EXPECT_EQ(host.unrecorded_samples, 5U);
}

TEST(CheckBatch, RefusesSamplesThatDoNotFit) {
  const auto good = make_batch({.samples = 2});
  EXPECT_TRUE(check_batch(good));
  auto bad = good;
  bad.samples.stack[1] = 13;
  EXPECT_FALSE(check_batch(bad));
  bad = good;
  bad.samples.span[0] = 9;
  EXPECT_FALSE(check_batch(bad));
  bad = good;
  bad.samples.time.pop_back();
  EXPECT_FALSE(check_batch(bad));
  bad = good;
  bad.requests[0].samples = 3;
  EXPECT_FALSE(check_batch(bad));
  bad = good;
  bad.stacks.parent[0] = 1;
  EXPECT_FALSE(check_batch(bad));
  bad = good;
  bad.stacks.method[3] = 0;
  EXPECT_FALSE(check_batch(bad));
}

}  // namespace
}  // namespace clrscope::store
