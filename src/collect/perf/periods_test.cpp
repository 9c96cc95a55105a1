#include "collect/perf/periods.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace clrscope::collect::perf {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr unsigned kRate = 999;

TraceTime at(nanoseconds time) { return TraceTime{time}; }

TEST(Periods, AreSpreadAroundTheRateAndNeverTheUsualOne) {
  Periods periods{kRate, 1};
  std::set<nanoseconds> seen;
  double rates = 0;
  constexpr int kMany = 10'000;
  for (int i = 0; i < kMany; ++i) {
    const auto one = periods.next();
    EXPECT_GE(one, Periods::usual(kRate) * 4 / 5 - 1ns);
    EXPECT_LE(one, Periods::usual(kRate) * 4 / 3 + 2ns);
    EXPECT_NE(one, Periods::usual(kRate));
    seen.insert(one);
    rates += 1e9 / static_cast<double>(one.count());
  }
  EXPECT_GT(seen.size(), kMany / 2U);
  EXPECT_NEAR(rates / kMany, kRate, kRate * 0.01);
}

TEST(Periods, AreNotShorterThanTheKernelTakes) {
  Periods periods{100'000, 1};
  for (int i = 0; i < 100; ++i) EXPECT_GE(periods.next(), 10us);
}

TEST(Periods, KnowWhichWasInForce) {
  Periods periods{kRate, 1};
  EXPECT_EQ(periods.at(at(5ms)), Periods::usual(kRate));
  periods.set(at(10ms), 900us);
  periods.set(at(20ms), 1100us);
  EXPECT_EQ(periods.at(at(5ms)), 900us);
  EXPECT_EQ(periods.at(at(10ms)), 900us);
  EXPECT_EQ(periods.at(at(19ms)), 900us);
  EXPECT_EQ(periods.at(at(25ms)), 1100us);
}

// A program that works on one thing in the first 60 % of each of its rounds, on another in the rest
// of it. Each change begins a period anew, as the kernel does it.
double share_seen(nanoseconds round, Periods& periods, nanoseconds length) {
  double all = 0;
  double first = 0;
  for (nanoseconds begin{0}; begin < length; begin += 100'037us) {
    const auto period = periods.next();
    periods.set(at(begin), period);
    for (auto time = begin + period; time < begin + 100'037us; time += period) {
      const auto weight = static_cast<double>(periods.at(at(time)).count());
      all += weight;
      if (time % round < round * 6 / 10) first += weight;
    }
  }
  return first / all;
}

// 100,000 samples of each round have a standard error of 0.15 points if nothing but chance is in
// them; a fixed period is wrong by up to 60.
TEST(Periods, FindTheSplitOfAProgramWhateverItsRhythm) {
  for (const auto round :
       {500us, 667us, 800us, 999us, 1000us, 1001us, 1250us, 1501us, 2002us, 3003us, 5005us}) {
    Periods periods{kRate, 12345};
    EXPECT_NEAR(share_seen(round, periods, 100s), 0.6, 0.01) << round.count();
  }
}

}  // namespace
}  // namespace clrscope::collect::perf
