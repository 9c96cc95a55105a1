#include "store/compare.h"

#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

class CompareTest : public SqliteStoreTest {
 protected:
  // Requests of one route whose durations are `base` and some noise, the same for all versions.
  void add_version(const std::string& version, std::size_t requests, std::uint64_t base,
                   std::size_t failed = 0) {
    auto batch = make_batch({.host = "web-" + version,
                             .version = version,
                             .number = number_++,
                             .requests = requests,
                             .spans = 2,
                             .routes = 1});
    for (std::size_t i = 0; i < requests; ++i) {
      batch.requests[i].duration = base * (80 + i * 7919 % 41) / 100;
      batch.requests[i].status = i < failed ? 503 : 200;
    }
    EXPECT_TRUE(store_->add(std::vector{batch}, kNow));
  }
  Comparison compared() {
    const auto found = compare(*store_, {.before = {.service = "shop", .version = "1"},
                                         .after = {.service = "shop", .version = "2"},
                                         .now = kNow});
    EXPECT_TRUE(found) << found.error().what;
    return *found;
  }

  std::uint64_t number_ = 0;
};

TEST_F(CompareTest, ALongerMedianOfManyRequestsIsWorse) {
  open();
  add_version("1", 400, 10'000'000);
  add_version("2", 400, 15'000'000);
  const auto found = compared();
  ASSERT_EQ(found.routes.size(), 1U);
  EXPECT_EQ(found.routes[0].verdict, Verdict::kWorse);
  EXPECT_NEAR(found.routes[0].p50.value_or(0), 50, 1);
  EXPECT_TRUE(found.routes[0].p95);
  EXPECT_FALSE(found.routes[0].p99) << "four requests beyond it are too few";
  EXPECT_NE(found.routes[0].reason.find("p50 10 ms → 15 ms (+50 %)"), std::string::npos)
      << found.routes[0].reason;
  EXPECT_EQ(found.overall.verdict, Verdict::kWorse);
}

TEST_F(CompareTest, AShorterMedianIsBetter) {
  open();
  add_version("1", 400, 15'000'000);
  add_version("2", 400, 10'000'000);
  EXPECT_EQ(compared().overall.verdict, Verdict::kBetter);
}

TEST_F(CompareTest, ADifferenceWithinTheNoiseIsNoChange) {
  open();
  add_version("1", 60, 10'000'000);
  add_version("2", 60, 10'600'000);
  EXPECT_EQ(compared().overall.verdict, Verdict::kSame);
}

TEST_F(CompareTest, FewRequestsTellNothingHoweverFarApart) {
  open();
  add_version("1", 12, 10'000'000);
  add_version("2", 400, 90'000'000);
  const auto found = compared();
  EXPECT_EQ(found.overall.verdict, Verdict::kTooFew);
  EXPECT_EQ(found.overall.reason, "12 and 400 requests are too few to tell");
}

TEST_F(CompareTest, MoreErrorsAreWorseAtTheSameSpeed) {
  open();
  add_version("1", 400, 10'000'000, 1);
  add_version("2", 400, 10'000'000, 20);
  const auto found = compared();
  EXPECT_EQ(found.overall.verdict, Verdict::kWorse);
  EXPECT_EQ(found.overall.reason, "errors 0.25 % → 5 %");
}

TEST_F(CompareTest, HasTheCpuTimeOfARequestWhereThereAreEnoughSamples) {
  open();
  for (const auto* version : {"1", "2"}) {
    auto batch = make_batch({.host = std::string{"web-"} + version,
                             .version = version,
                             .number = number_++,
                             .requests = 30,
                             .routes = 3,
                             .samples = 2});
    for (auto& weight : batch.samples.weight) weight = version[0] == '1' ? 10'000'000 : 15'000'000;
    ASSERT_TRUE(store_->add(std::vector{batch}, kNow));
  }
  const auto found = compared();
  EXPECT_EQ(found.overall.before.cpu_each, nanoseconds{20'000'000});
  EXPECT_EQ(found.overall.after.cpu_each, nanoseconds{30'000'000});
  EXPECT_NEAR(found.overall.cpu.value_or(0), 50, 0.001);
  ASSERT_EQ(found.routes.size(), 3U);
  for (const auto& route : found.routes) EXPECT_NEAR(route.cpu.value_or(0), 50, 0.001);
  // Merged chunks have their samples in another place.
  ASSERT_TRUE(store_->compact(kNow + std::chrono::hours{1}));
  EXPECT_EQ(compared().overall.after.cpu_each, nanoseconds{30'000'000});
}

TEST_F(CompareTest, HasNoCpuTimeWithoutSamples) {
  open();
  add_version("1", 400, 10'000'000);
  add_version("2", 400, 10'000'000);
  const auto found = compared();
  EXPECT_FALSE(found.overall.before.cpu_each);
  EXPECT_FALSE(found.overall.cpu);
}

TEST_F(CompareTest, ARouteOfOneSideOnlyIsNewOrGone) {
  open();
  add_version("2", 40, 10'000'000);
  EXPECT_EQ(compared().routes.at(0).verdict, Verdict::kNew);
  const auto found = compare(*store_, {.before = {.service = "shop", .version = "2"},
                                       .after = {.service = "shop", .version = "3"},
                                       .now = kNow});
  EXPECT_EQ(found->routes.at(0).verdict, Verdict::kGone);
}

TEST(MergeFlames, KeepsWhatOneSideLacksAndOrdersByTime) {
  const Flame before{.requests = 3,
                     .spans = 4,
                     .total = nanoseconds{60},
                     .names = {"Main", "Old", "Both"},
                     .name = {0, 1, 2},
                     .depth = {0, 1, 1},
                     .self_ns = {10, 20, 30}};
  const Flame after{.requests = 5,
                    .samples = 6,
                    .total = nanoseconds{77},
                    .names = {"Both", "Main", "New"},
                    .name = {1, 2, 0},
                    .depth = {0, 1, 1},
                    .self_ns = {7, 60, 10}};
  const auto merged = merge_flames(before, after);
  std::vector<std::string> names;
  for (const auto name : merged.name) names.push_back(merged.names[name]);
  EXPECT_EQ(names, (std::vector<std::string>{"Main", "New", "Both", "Old"}));
  EXPECT_EQ(merged.depth, (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(merged.before_self_ns, (std::vector<std::uint64_t>{10, 0, 30, 20}));
  EXPECT_EQ(merged.after_self_ns, (std::vector<std::uint64_t>{7, 60, 10, 0}));
  EXPECT_EQ(merged.before_samples, 4U);
  EXPECT_EQ(merged.after_samples, 6U);
}

}  // namespace
}  // namespace clrscope::store
