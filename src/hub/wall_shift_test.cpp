#include "hub/wall_shift.h"

#include <gtest/gtest.h>

namespace clrscope::hub {
namespace {

using namespace std::chrono_literals;

TEST(WallShift, FollowsAClockThatIsSetAndNoneThatTrembles) {
  WallShift shift;
  TraceTime now{10s};
  WallTime wall{1000s};
  EXPECT_EQ(shift.at(now, wall), 0ns);
  EXPECT_EQ(shift.at(now + 5s, wall + 5s + 40ms), 0ns);
  EXPECT_EQ(shift.at(now + 6s, wall + 6s + 3600s), 3600s);
  EXPECT_EQ(shift.at(now + 7s, wall + 7s + 3600s - 1ms), 3600s);
  EXPECT_EQ(shift.at(now + 8s, wall + 8s - 60s), -60s);
}

}  // namespace
}  // namespace clrscope::hub
