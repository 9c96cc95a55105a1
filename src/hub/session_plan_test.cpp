#include "hub/session_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::hub {
namespace {

using testing::ElementsAre;

Need need(std::string name, std::uint64_t keywords, std::uint8_t level = 4) {
  return {.request = {.name = std::move(name), .keywords = keywords, .level = level}};
}

TEST(SessionPlan, AddsKeywordsOfOneLevelAndProvidersToOneSession) {
  const auto plan = plan_sessions(
      std::vector{need("Shop", 1), need("Runtime", 0x1), need("Runtime", 0x10), need("Shop", 2)});
  ASSERT_EQ(plan.size(), 1U);
  ASSERT_EQ(plan[0].request.providers.size(), 2U);
  EXPECT_EQ(plan[0].request.providers[0].name, "Runtime");
  EXPECT_EQ(plan[0].request.providers[0].keywords, 0x11U);
  EXPECT_EQ(plan[0].request.providers[1].keywords, 0x3U);
  EXPECT_THAT(plan[0].needs, ElementsAre(0, 1, 2, 3));
}

TEST(SessionPlan, AsksForNothingThatNobodyWants) {
  // Together they would bring keyword 0x10 at level 5.
  const auto plan = plan_sessions(
      std::vector{need("Runtime", 0x1, 5), need("Runtime", 0x10, 4), need("Runtime", 0x1, 4)});
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].request.providers[0].keywords, 0x1U);
  EXPECT_THAT(plan[0].needs, ElementsAre(0, 2));
  EXPECT_EQ(plan[1].request.providers[0].keywords, 0x10U);
}

TEST(SessionPlan, TakesStacksOnlyForThoseWhoWantThem) {
  auto stacks = need("Runtime", 0x1);
  stacks.stacks = true;
  const auto plan = plan_sessions(std::vector{need("Shop", 1), stacks, need("Runtime", 0x1)});
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_TRUE(plan[0].request.stacks);
  EXPECT_THAT(plan[0].needs, ElementsAre(1, 2));  // the last is covered: no second copy of each
  EXPECT_THAT(plan[1].needs, ElementsAre(0));
}

TEST(SessionPlan, AddsMetersToOneList) {
  const auto meters = [](const std::string& names) {
    auto one = need(std::string{kMetricsProvider}, 2, 5);
    one.request.arguments = "SessionId=SHARED;Metrics=" + names + ";RefreshInterval=1";
    return one;
  };
  const auto plan = plan_sessions(
      std::vector{meters("Shop\\orders,B"), meters("A"), meters("Shop"), need("Shop", 1)});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].request.providers[1].arguments,
            "SessionId=SHARED;Metrics=A,B,Shop;RefreshInterval=1");
  EXPECT_TRUE(covers(plan[0].request.providers[1], meters("Shop\\orders").request));
  EXPECT_FALSE(covers(plan[0].request.providers[1], meters("C").request));
}

TEST(SessionPlan, KeepsOtherArgumentsAndThoseWhoWaitApart) {
  auto counters = need("Shop", 0, 1);
  counters.request.arguments = "EventCounterIntervalSec=1";
  auto other = need("Shop", 1);
  other.request.arguments = "what=else";
  auto waits = need("Shop", 1);
  waits.alone = 7;
  const auto plan =
      plan_sessions(std::vector{need("Shop", 1), counters, other, waits, need("Runtime", 1)});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_THAT(plan[0].needs, ElementsAre(0, 1, 4));  // counters only add to a provider's events
  EXPECT_EQ(plan[0].request.providers[1].arguments, "EventCounterIntervalSec=1");
  EXPECT_EQ(plan[0].request.providers[1].level, 4);
  EXPECT_THAT(plan[1].needs, ElementsAre(2));
  EXPECT_THAT(plan[2].needs, ElementsAre(3));
}

}  // namespace
}  // namespace clrscope::hub
