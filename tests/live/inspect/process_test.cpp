// A real runtime as the kernel shows it: memory, mappings, threads, files; also from outside its
// namespaces.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "base/proc.h"
#include "inspect/target.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using testing::Contains;
using testing::HasSubstr;

class OpenProcessTest : public LiveTest {
 protected:
  static std::vector<inspect::OsThread> threads_of(inspect::Target& target) {
    auto threads = target.threads();
    EXPECT_TRUE(threads) << threads.error().what;
    return threads ? *std::move(threads) : std::vector<inspect::OsThread>{};
  }

  // The runtime's library is in memory what it is in the file that open_file gives.
  static void expect_runtime_is_read(inspect::Target& target) {
    const auto mappings = target.mappings();
    ASSERT_TRUE(mappings) << mappings.error().what;
    const auto runtime = std::ranges::find_if(
        *mappings, [](const auto& m) { return m.path.ends_with("/libcoreclr.so"); });
    ASSERT_NE(runtime, mappings->end());
    const auto file = target.open_file(runtime->path);
    ASSERT_TRUE(file) << file.error().what;
    std::array<std::uint8_t, 4096> in_file{};
    std::array<std::uint8_t, 4096> in_memory{};
    ASSERT_EQ(::pread(file->get(), in_file.data(), in_file.size(),
                      static_cast<off_t>(runtime->file_offset)),
              4096);
    ASSERT_EQ(target.memory().read(runtime->start, in_memory), in_memory.size());
    EXPECT_EQ(in_file, in_memory);
    const auto beside = runtime->path.substr(0, runtime->path.rfind('/')) + "/libclrjit.so";
    EXPECT_TRUE(target.open_file(beside));
  }
};

TEST_P(OpenProcessTest, ShowsThreadsAndWhereTheyWait) {
  const auto app = start_ready({"threads", "20"});
  const auto target = inspect::open_process(app->pid());
  ASSERT_TRUE(target) << target.error().what;
  const auto threads = threads_of(**target);
  std::size_t blocked = 0;
  for (const auto& thread : threads) {
    if (!thread.name.starts_with("blocked-")) continue;
    ++blocked;
    EXPECT_EQ(thread.state, 'S');
    EXPECT_EQ(thread.namespace_tid, thread.tid);
    EXPECT_EQ(thread.syscall, 202) << thread.name;  // futex
    EXPECT_TRUE(thread.registers.knows(unwind::kRip) && thread.registers.knows(unwind::kRsp));
    std::uint8_t word[8];
    EXPECT_EQ((*target)->memory().read(thread.registers[unwind::kRsp], word), 8U);
  }
  EXPECT_EQ(blocked, 20U);
  expect_runtime_is_read(**target);
}

TEST_P(OpenProcessTest, SeesWhoRuns) {
  const auto app = start_ready({"cpu"});
  const auto target = inspect::open_process(app->pid());
  ASSERT_TRUE(target) << target.error().what;
  EXPECT_TRUE(eventually([&] {
    const auto threads = threads_of(**target);
    return std::ranges::any_of(threads, [](const auto& thread) {
      return thread.state == 'R' && thread.cpu > std::chrono::milliseconds{20} && !thread.syscall;
    });
  }));
}

// Starts the sample as the first process of a pid namespace, in a mount namespace of its own.
pid_t start_in_namespaces(const std::string& program, const std::string& temp) {
  const auto outer = ::fork();
  if (outer != 0) return outer;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(126);
  const auto inner = ::fork();
  if (inner == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    ::mount("none", "/proc", "proc", 0, nullptr);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) ::dup2(nothing, fd);
    ::setenv("TMPDIR", temp.c_str(), 1);
    ::execl(program.c_str(), program.c_str(), "threads", "8", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(inner, &status, 0);
  ::_exit(0);
}

TEST_P(OpenProcessTest, SeesIntoPrivateNamespaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "private namespaces need root";
  const auto program = std::string{std::getenv("CLRSCOPE_SAMPLES")} + "/" + GetParam() + "/samples";
  const auto outer = start_in_namespaces(program, scratch_.path());
  ASSERT_GT(outer, 0);
  pid_t inner = 0;
  const auto children =
      "/proc/" + std::to_string(outer) + "/task/" + std::to_string(outer) + "/children";
  ASSERT_TRUE(eventually([&] {
    inner = std::atoi(contents_of(children).c_str());
    return inner > 0;
  }));
  std::vector<inspect::OsThread> threads;
  const bool ready = eventually([&] {
    const auto target = inspect::open_process(inner);
    const auto found = target ? (*target)->threads() : Result<std::vector<inspect::OsThread>>{};
    if (found) threads = *found;
    return std::ranges::count_if(threads, [](const auto& thread) {
             return thread.name.starts_with("blocked-") && thread.syscall;
           }) == 8;
  });
  EXPECT_TRUE(ready);
  std::set<pid_t> own;
  for (const auto& thread : threads) {
    EXPECT_LT(thread.namespace_tid, 200);
    own.insert(thread.namespace_tid);
  }
  EXPECT_THAT(own, Contains(1));
  EXPECT_EQ(own.size(), threads.size());
  if (const auto target = inspect::open_process(inner)) expect_runtime_is_read(**target);
  ::kill(inner, SIGKILL);
  ::waitpid(outer, nullptr, 0);
}

TEST_P(OpenProcessTest, EndsWhenTheProcessDoes) {
  auto app = start_ready({"idle"});
  const auto target = inspect::open_process(app->pid());
  ASSERT_TRUE(target) << target.error().what;
  app.reset();
  EXPECT_EQ((*target)->threads().error().code, Errc::kGone);
  EXPECT_EQ((*target)->open_file("/etc/passwd").error().code, Errc::kGone);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, OpenProcessTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
