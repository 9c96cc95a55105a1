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

TEST(ProcessFd, TellsTheEndOfThatProcess) {
  const auto child = ::fork();
  if (child == 0) ::_exit((::pause(), 0));
  const auto process = open_process_fd(child, proc_identity(child)->start_ticks);
  if (!process) GTEST_SKIP() << "this kernel has no descriptors of processes";
  EXPECT_FALSE(has_ended(process));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(process));
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(has_ended(process));
}

TEST(ProcessEnd, ComesWithTheEndOfTheProcess) {
  const auto child = ::fork();
  if (child == 0) ::_exit((::pause(), 0));
  const ProcessEnd end{child};
  EXPECT_FALSE(end.has_come());
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(end.has_come());
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(end.has_come());
  EXPECT_TRUE(ProcessEnd{1 << 30}.has_come());
}

TEST(ProcessFd, IsNotOfAnotherProcessWithThatNumber) {
  EXPECT_FALSE(open_process_fd(::getpid(), proc_identity(::getpid())->start_ticks + 1));
  EXPECT_FALSE(open_process_fd(1 << 30, 1));
}

TEST(ProcIdentity, OfNoProcessIsNothing) { EXPECT_FALSE(proc_identity(1 << 30)); }

}  // namespace
}  // namespace clrscope
