#include "agent/sampling.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace clrscope::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A process with so many requests a second, each with `spans`; it uses `process` CPU time a second.
struct Load {
  double per_second;
  std::uint64_t spans;
  std::uint64_t paths = 3;
  std::uint64_t process = kSecond;
};

struct Outcome {
  HookCounts counts;
  std::uint64_t by_floor = 0;
  std::uint64_t rare = 0;  // of the path that comes once a second
};

// Runs the load for that long in steps of a tenth of a second.
Outcome run(Sampling& sampling, const Load& load, int seconds, std::uint64_t& now,
            std::uint64_t& process, HookCounts& counts) {
  std::mt19937_64 random{7};
  const auto before = counts;
  Outcome out;
  for (int tick = 0; tick < seconds * 10; ++tick) {
    for (int i = 0; i < static_cast<int>(load.per_second / 10); ++i) {
      const bool is_rare = i == 0 && tick % 10 == 0;
      const auto choice =
          sampling.choose(random(), is_rare ? 999 : random() % load.paths, false, now);
      ++counts.seen;
      if (choice == Choice::kNo) continue;
      ++counts.sampled;
      counts.spans += load.spans;
      if (choice == Choice::kFloor) ++out.by_floor;
      if (is_rare) ++out.rare;
    }
    now += kSecond / 10;
    process += load.process / 10;
    sampling.update(counts, now, process);
  }
  out.counts = counts.since(before);
  return out;
}

class SamplingTest : public ::testing::Test {
 protected:
  Outcome run_for(const Load& load, int seconds) {
    return run(*sampling, load, seconds, now, process, counts);
  }
  void start(const SamplingOptions& options) { sampling->start(options, now, process); }

  std::unique_ptr<Sampling> sampling = std::make_unique<Sampling>();
  std::uint64_t now = 100 * kSecond, process = 0;
  HookCounts counts;
};

TEST_F(SamplingTest, TakesEveryRequestWhileThatIsCheap) {
  start({});
  const auto out = run_for({.per_second = 20, .spans = 100}, 10);
  EXPECT_EQ(out.counts.sampled, out.counts.seen);
}

TEST_F(SamplingTest, HoldsTheBudgetWhateverTheLoad) {
  start({.budget_ppm = 10'000});
  for (const double per_second : {500.0, 2'000.0, 8'000.0}) {
    (void)run_for({.per_second = per_second, .spans = 300}, 10);  // until it has settled
    const auto out = run_for({.per_second = per_second, .spans = 300}, 10);
    // A hundredth of ten seconds.
    EXPECT_LE(Sampling::cost_of(out.counts), 10 * kSecond / 100 * 11 / 10) << per_second;
    EXPECT_GT(out.counts.sampled, 100U) << per_second;
  }
}

TEST_F(SamplingTest, HoldsTheBudgetWhereHooksTakeLongerThanTheirPrice) {
  start({.budget_ppm = 10'000});
  counts.seen_ns = 2'500;
  (void)run_for({.per_second = 2'000, .spans = 300}, 10);
  const auto slow = run_for({.per_second = 2'000, .spans = 300}, 10);
  EXPECT_LE(Sampling::cost_of(slow.counts), 10 * kSecond / 100 * 11 / 10);
  counts.seen_ns = 0;
  (void)run_for({.per_second = 2'000, .spans = 300}, 10);
  const auto usual = run_for({.per_second = 2'000, .spans = 300}, 10);
  EXPECT_GT(slow.counts.sampled, 0U);
  EXPECT_LT(slow.counts.sampled, usual.counts.sampled / 2);
}

TEST_F(SamplingTest, CountsTheAgentsOwnThread) {
  EXPECT_EQ(Sampling::cost_of({.own_ns = 700}), 700U);
  start({.budget_ppm = 10'000});
  const auto share = [&](std::uint64_t own_per_second) {
    double sampled = 0;
    for (int second = 0; second < 20; ++second) {
      counts.own_ns += own_per_second;
      const auto out = run_for({.per_second = 4'000, .spans = 300}, 1);
      if (second >= 10) sampled += static_cast<double>(out.counts.sampled);
    }
    return sampled;
  };
  const auto without = share(0);
  EXPECT_LT(share(5'000'000), without * 0.6);  // half of the budget
}

TEST_F(SamplingTest, SamplesInverselyToTheLoad) {
  start({});
  const auto share = [&](double per_second) {
    (void)run_for({.per_second = per_second, .spans = 1000}, 10);
    const auto out = run_for({.per_second = per_second, .spans = 1000}, 20);
    return static_cast<double>(out.counts.sampled) / static_cast<double>(out.counts.seen);
  };
  const auto at_1000 = share(1000), at_2000 = share(2000), at_4000 = share(4000);
  EXPECT_LT(at_2000, at_1000 * 0.6);
  EXPECT_LT(at_4000, at_2000 * 0.6);
  EXPECT_GT(at_4000, 0);
}

TEST_F(SamplingTest, RisesAgainWhenTheLoadIsGone) {
  start({});
  (void)run_for({.per_second = 8000, .spans = 1000}, 10);
  (void)run_for({.per_second = 10, .spans = 100}, 10);
  const auto out = run_for({.per_second = 10, .spans = 100}, 10);
  EXPECT_EQ(out.counts.sampled, out.counts.seen);
}

TEST_F(SamplingTest, SeesAPathThatIsRare) {
  start({.floor_seconds = 5});
  (void)run_for({.per_second = 8000, .spans = 1000}, 10);
  const auto out = run_for({.per_second = 8000, .spans = 1000}, 60);
  // Once a second it comes; at least every fifth time it is taken, if the budget of the moment
  // lets.
  EXPECT_GE(out.rare, 8U);
  EXPECT_GT(out.by_floor, 0U);
  EXPECT_LE(Sampling::cost_of(out.counts), 60 * kSecond / 100 * 11 / 10);
}

TEST_F(SamplingTest, ForcesAndFixes) {
  start({.fixed = true, .probability_ppm = 0});
  EXPECT_EQ(sampling->choose(5, 1, false, now), Choice::kNo);
  EXPECT_EQ(sampling->choose(5, 1, true, now), Choice::kForced);
  start({.fixed = true, .probability_ppm = 1'000'000});
  EXPECT_EQ(sampling->choose(999'999, 1, false, now), Choice::kChance);
  start({.fixed = true, .probability_ppm = 250'000});
  const auto out = run_for({.per_second = 10'000, .spans = 1}, 2);
  EXPECT_NEAR(static_cast<double>(out.counts.sampled) / static_cast<double>(out.counts.seen), 0.25,
              3 * 0.0031);  // three standard errors of 20,000 decisions
}

}  // namespace
}  // namespace clrscope::agent
