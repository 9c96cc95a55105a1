#include "ops/settled.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProcStatus process(char state, std::chrono::nanoseconds cpu, std::chrono::nanoseconds age) {
  ProcStatus status;
  status.state = state;
  status.cpu = cpu;
  status.age = age;
  return status;
}

TEST(Settled, IsNoProcessYoungerThanTwoSeconds) {
  EXPECT_FALSE(has_settled(process('S', seconds{5}, milliseconds{1999})));
  EXPECT_TRUE(has_settled(process('S', milliseconds{0}, seconds{2})));
}

TEST(Settled, IsNoProcessThatHasHadNoTimeToStart) {
  for (const char state : {'R', 'D'}) {
    EXPECT_FALSE(has_settled(process(state, milliseconds{200}, seconds{9})));
    EXPECT_TRUE(has_settled(process(state, seconds{1}, seconds{9})));
    EXPECT_TRUE(has_settled(process(state, milliseconds{200}, seconds{30})));
  }
}

TEST(Settled, DoesNotWaitForAProcessThatIsGone) { wait_until_settled(-1); }

TEST(Settled, WaitsForAProcessThatIsStarting) {
  const auto child = fork();
  if (child == 0) pause();
  wait_until_settled(child);
  const auto status = proc_status(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(status);
  EXPECT_GE(status->age, seconds{2});
}

}  // namespace
}  // namespace clrscope::ops
