#include "ipc/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"

namespace clrscope::ipc {
namespace {

using testing::HasSubstr;

constexpr uid_t kOther = 54321;

TEST(CheckPeer, KnowsTheProcessByPidAndUser) {
  EXPECT_TRUE(check_peer({::getuid(), ::getpid()}, ::getpid(), "s"));
}

// A folder for sockets may be shared with another pid namespace, where pids are used again.
TEST(CheckPeer, RefusesAProcessOfAnotherPidNamespace) {
  EXPECT_FALSE(check_peer({::getuid(), 0}, ::getpid(), "s"));
}

TEST(CheckPeer, RefusesAnotherProcessOfTheSameUserAndNamesBoth) {
  const auto done = check_peer({::getuid(), ::getppid()}, ::getpid(), "/tmp/s");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kDenied);
  EXPECT_THAT(done.error().what,
              HasSubstr(fmt::format("/tmp/s is not the socket of process {} ", ::getpid())));
  EXPECT_THAT(done.error().what, HasSubstr(fmt::format("process {} of user", ::getppid())));
}

// A listener outlives its process in a child; the pid may then be that of a later process.
TEST(CheckPeer, RefusesTheSamePidOfAnotherUser) {
  EXPECT_FALSE(check_peer({kOther, ::getpid()}, ::getpid(), "s"));
}

TEST(CheckPeer, KnowsAProcessThatListenedAsRootAndBecameAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd changed{ends[0]}, change{ends[1]};
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setresuid(kOther, kOther, kOther) != 0 || ::write(change.get(), "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(changed.get(), &byte, 1), 1);
  EXPECT_TRUE(check_peer({0, child}, child, "s"));
  EXPECT_TRUE(check_peer({kOther, child}, child, "s"));
  EXPECT_FALSE(check_peer({kOther + 1, child}, child, "s"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace clrscope::ipc
