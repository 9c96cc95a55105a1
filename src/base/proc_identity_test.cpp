#include "base/proc_identity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

namespace clrscope {
namespace {

TEST(ProcIdentity, IsThatOfTheWholeStatus) {
  const auto found = proc_identity(::getpid());
  const auto status = proc_status(::getpid());
  ASSERT_TRUE(found && status);
  EXPECT_EQ(found->start_ticks, status->start_ticks);
  EXPECT_GT(found->start_ticks, 0U);
  EXPECT_FALSE(found->ended());
}

TEST(ProcIdentity, SaysThatAProcessHasEnded) {
  const auto child = ::fork();
  if (child == 0) ::_exit((::pause(), 0));
  ASSERT_TRUE(proc_identity(child));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  ASSERT_TRUE(proc_identity(child));
  EXPECT_TRUE(proc_identity(child)->ended());
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(proc_identity(child));
}

TEST(ProcIdentity, OfNoProcessIsNothing) { EXPECT_FALSE(proc_identity(1 << 30)); }

}  // namespace
}  // namespace clrscope
