#include "base/proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/io.h"

namespace clrscope {
namespace {

using namespace std::chrono_literals;

constexpr pid_t kNobody = 0x7ffffff0;  // above any pid_max

// A child that lives until we let go of its pipe; `prepare` runs in it first.
class Child {
 public:
  explicit Child(const std::function<void()>& prepare) {
    int to_child[2];
    int from_child[2];
    if (::pipe(to_child) != 0 || ::pipe(from_child) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to_child[1]);
      prepare();
      char byte = 'r';
      (void)!::write(from_child[1], &byte, 1);
      (void)!::read(to_child[0], &byte, 1);
      ::_exit(0);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    keep_alive_.reset(to_child[1]);
    const UniqueFd ready{from_child[0]};
    char byte = 0;
    EXPECT_EQ(::read(ready.get(), &byte, 1), 1);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  void end() {
    keep_alive_.reset();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  UniqueFd keep_alive_;
};

TEST(ProcStatus, DescribesOurselves) {
  const auto status = proc_status(::getpid());
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(status->comm, "base_test");
  EXPECT_EQ(status->uid, ::geteuid());
  EXPECT_GT(status->namespace_pid, 0);
  EXPECT_GT(status->rss_bytes, 100'000U);
  EXPECT_GE(status->age, 0s);
  EXPECT_LT(status->age, 1h);
  EXPECT_GT(status->start_ticks, 0U);
  EXPECT_THAT(status->state, testing::AnyOf('R', 'S', 'D'));
}

TEST(ProcStatus, ReadsANameWithBlanksAndBrackets) {
  const Child child{[] { ::prctl(PR_SET_NAME, "a) R 1 (b"); }};
  const auto status = proc_status(child.pid());
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(status->comm, "a) R 1 (b");
  EXPECT_GE(status->start_ticks, proc_status(::getpid())->start_ticks);
}

TEST(ProcStatus, SaysThatAProcessIsGone) {
  const auto status = proc_status(kNobody);
  EXPECT_EQ(status.error().code, Errc::kNotFound);
}

TEST(Proc, ListsOurselvesAmongAllPids) {
  const auto pids = all_pids();
  ASSERT_TRUE(pids);
  EXPECT_THAT(*pids, testing::Contains(::getpid()));
  EXPECT_TRUE(std::is_sorted(pids->begin(), pids->end()));
}

TEST(Proc, ReadsTheCommandLineWordByWord) {
  const auto words = proc_command_line(::getpid());
  ASSERT_TRUE(words);
  EXPECT_THAT(words->front(), testing::EndsWith("base_test"));
}

TEST(Proc, ReadsTheEnvironmentAProcessStartedWith) {
  const auto environment = proc_environment(::getpid());
  ASSERT_TRUE(environment);
  const char* path = std::getenv("PATH");
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(environment->at("PATH"), path);
}

TEST(Proc, FindsTheExecutable) {
  EXPECT_THAT(*proc_executable(::getpid()), testing::EndsWith("/base_test"));
  EXPECT_FALSE(proc_executable(kNobody));
}

TEST(Proc, KnowsThatWeShareOurOwnNamespaces) {
  EXPECT_FALSE(in_other_namespace(::getpid(), "pid"));
  EXPECT_FALSE(in_other_namespace(kNobody, "pid"));
  EXPECT_EQ(container_of(::getpid()), "");
}

TEST(Proc, NoticesTheEndOfAProcess) {
  Child child{[] {}};
  const auto pid = child.pid();
  EXPECT_TRUE(process_exists(pid));
  child.end();
  EXPECT_FALSE(process_exists(pid));
}

TEST(Proc, TakesNoProcessGroupForAProcess) {
  EXPECT_FALSE(process_exists(0));
  EXPECT_FALSE(process_exists(-1));
}

TEST(Proc, NamesUsers) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(3'999'999'999), "3999999999");
}

TEST(Proc, TellsProcessesThatEnd) {
  EXPECT_FALSE(has_ended(::getpid()));
  EXPECT_FALSE(is_ending(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child));  // a zombie
  EXPECT_TRUE(is_ending(child));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_ending(child));
}

}  // namespace
}  // namespace clrscope
