#include "collect/perf/doubles.h"

#include <gtest/gtest.h>

namespace clrscope::collect::perf {
namespace {

constexpr EventIndex kCpuSamples{0};
constexpr ThreadId kLate{42};
constexpr EventId kOwn{7};
constexpr EventId kParents{3};

Origin from(EventId id, std::uint32_t cpu = 0) {
  return {.event = kCpuSamples, .id = id, .thread = kLate, .cpu = cpu};
}

TEST(PerfDoubles, AThreadThatInheritedNothingKeepsItsOwn) {
  Doubles doubles;
  doubles.suspect(kCpuSamples, kLate, 0, kOwn, 5);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(doubles.judge(from(kOwn)).keep);
}

TEST(PerfDoubles, TheOwnEventIsDroppedOnceAnInheritedOneIsSeen) {
  Doubles doubles;
  doubles.suspect(kCpuSamples, kLate, 0, kOwn, 5);
  const auto first = doubles.judge(from(kParents));
  EXPECT_TRUE(first.keep);
  EXPECT_EQ(first.superfluous, 5U);
  EXPECT_FALSE(doubles.judge(from(kOwn)).keep);
  EXPECT_TRUE(doubles.judge(from(kParents)).keep);
  EXPECT_FALSE(doubles.judge(from(kParents)).superfluous.has_value());
}

TEST(PerfDoubles, EveryCpuIsJudgedByItself) {
  Doubles doubles;
  doubles.suspect(kCpuSamples, kLate, 0, kOwn, 5);
  doubles.suspect(kCpuSamples, kLate, 1, EventId{8}, 6);
  (void)doubles.judge(from(kParents, 0));
  EXPECT_TRUE(doubles.judge(from(EventId{8}, 1)).keep);
}

}  // namespace
}  // namespace clrscope::collect::perf
