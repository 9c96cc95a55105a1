#include "ops/agent_wall.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(AgentWall, PausesTheProcessForAHundredthOfTheTimeAtMost) {
  EXPECT_EQ(wall_interval(10, milliseconds{0}), milliseconds{100});
  EXPECT_EQ(wall_interval(10, milliseconds{1}), milliseconds{100});
  EXPECT_EQ(wall_interval(10, milliseconds{5}), milliseconds{500});
  EXPECT_EQ(wall_interval(10, milliseconds{50}), seconds{5}) << "slower than once a second";
  EXPECT_EQ(wall_interval(1, milliseconds{1}), seconds{1});
}

TEST(AgentWall, KeepsTheIntervalInBounds) {
  EXPECT_EQ(wall_interval(0, milliseconds{0}), seconds{1});
  EXPECT_EQ(wall_interval(1000, milliseconds{0}), milliseconds{100});
  EXPECT_EQ(wall_interval(10, std::chrono::nanoseconds::max()), minutes{1});
}

}  // namespace
}  // namespace clrscope::ops
