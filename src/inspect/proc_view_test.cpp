#include "inspect/proc_view.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/io.h"

namespace clrscope::inspect {
namespace {

using testing::HasSubstr;

TEST(SyscallFile, TellsWhereABlockedThreadIs) {
  OsThread thread;
  parse_syscall_file("202 0x7f01 0x189 0x0 0x5 0x6 0xffffffff 0x7ffe10 0x7f99\n", thread);
  EXPECT_EQ(thread.syscall, 202);
  EXPECT_EQ(thread.registers[unwind::kRsp], 0x7ffe10U);
  EXPECT_EQ(thread.registers[unwind::kRip], 0x7f99U);
  EXPECT_EQ(thread.registers[unwind::kRdi], 0x7f01U);
  EXPECT_EQ(thread.registers[unwind::kR9], 0xffffffffU);
  EXPECT_FALSE(thread.registers.knows(unwind::kRbp));
}

TEST(SyscallFile, KnowsNoCallOutsideOfOne) {
  OsThread thread;
  parse_syscall_file("-1 0x7ffe10 0x7f99\n", thread);
  EXPECT_FALSE(thread.syscall.has_value());
  EXPECT_TRUE(thread.registers.knows(unwind::kRip));
}

TEST(SyscallFile, TellsNothingOfARunningThreadNorFromGarbage) {
  for (const auto* text : {"running\n", "", "1 2", "x y z", "-1 0x0 0x0"}) {
    OsThread thread;
    parse_syscall_file(text, thread);
    EXPECT_EQ(thread.registers.known, 0U) << text;
  }
}

TEST(ThreadStat, TakesANameWithBracketsWhole) {
  OsThread thread;
  ASSERT_TRUE(parse_thread_stat("7 (a) S (b) R 1 1 1 0 -1 0 0 0 0 0 100 50 0 0", thread));
  EXPECT_EQ(thread.name, "a) S (b");
  EXPECT_EQ(thread.state, 'R');
  EXPECT_EQ(thread.cpu.count(), 150 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  for (const auto* text : {"", "7 (a", "7 )a(", "7 (a) S 1"})
    EXPECT_FALSE(parse_thread_stat(text, thread)) << text;
}

TEST(NamespaceIdsOf, AreTheLastOfTheLine) {
  const auto ids = parse_namespace_ids("Name:\tx\nNSpid:\t4312\t17\t1\nNSpgid:\t9\n");
  EXPECT_EQ(ids.own, 1);
  EXPECT_EQ(ids.depth, 3U);
  EXPECT_EQ(parse_namespace_ids("").depth, 0U);
}

TEST(OpenProcess, ShowsABlockedThreadOfOurOwn) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<pid_t> id = 0;
  std::thread waiter{[&] {
    ::pthread_setname_np(::pthread_self(), "wait (here)");
    id = static_cast<pid_t>(::syscall(SYS_gettid));
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  }};
  const auto target = open_process(::getpid());
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ((*target)->pid(), ::getpid());
  OsThread found;
  while (found.syscall != SYS_read) {
    const auto waits = id.load();  // has its name by then
    const auto threads = (*target)->threads();
    ASSERT_TRUE(threads.has_value());
    const auto at = std::ranges::find(*threads, waits, &OsThread::tid);
    if (at != threads->end()) found = *at;
  }
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  waiter.join();
  EXPECT_EQ(found.name, "wait (here)");
  EXPECT_EQ(found.namespace_tid, found.tid);
  EXPECT_EQ(found.registers[unwind::kRdi], static_cast<std::uint64_t>(ends[0]));
  const auto rip = found.registers[unwind::kRip];
  const auto mappings = (*target)->mappings();
  ASSERT_TRUE(mappings.has_value());
  const auto code = std::ranges::find_if(
      *mappings, [&](const Mapping& m) { return m.start <= rip && rip < m.end; });
  ASSERT_NE(code, mappings->end());
  EXPECT_TRUE(code->executable);
  ::close(ends[0]);
  ::close(ends[1]);
}

class MappedFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/clrscope-map-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/file";
    std::ofstream{path_} << "the mapped one";
    const UniqueFd file{::open(path_.c_str(), O_RDONLY)};
    at_ = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.get(), 0);
    ASSERT_NE(at_, MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(at_, 4096);
    std::filesystem::remove_all(folder_);
  }
  static std::string text_of(const Result<UniqueFd>& file) {
    if (!file) return file.error().what;
    char text[64];
    const auto got = ::read(file->get(), text, sizeof text);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

  std::string folder_, path_;
  void* at_ = nullptr;
};

TEST_F(MappedFile, IsTheProcessesOwnAlsoWhenReplaced) {
  const auto target = open_process(::getpid());
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(text_of((*target)->open_file(path_)), "the mapped one");
  std::filesystem::remove(path_);
  std::ofstream{path_} << "another";
  if (::geteuid() != 0) GTEST_SKIP() << "opening a replaced file needs root";
  EXPECT_EQ(text_of((*target)->open_file(path_)), "the mapped one");
  std::filesystem::remove(path_);
  EXPECT_EQ(text_of((*target)->open_file(path_)), "the mapped one");
}

TEST_F(MappedFile, NeitherWaitsForAPipeNorTakesAFolder) {
  const auto target = open_process(::getpid());
  ASSERT_TRUE(target.has_value());
  const auto pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& path : {pipe, folder_})
    EXPECT_EQ((*target)->open_file(path).error().code, Errc::kUnsupported) << path;
  for (const auto& path : {std::string{"[vdso]"}, folder_ + "/none"})
    EXPECT_EQ((*target)->open_file(path).error().code, Errc::kNotFound) << path;
}

TEST_F(MappedFile, IsLookedForBelowTheProcessesRootWhateverItsLinksSay) {
  if (::geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  std::filesystem::create_symlink("/file", folder_ + "/link");
  std::filesystem::create_symlink("../../../../file", folder_ + "/up");
  const auto child = ::fork();
  if (child == 0) ::_exit(::chroot(folder_.c_str()) == 0 ? (::pause(), 0) : 1);
  const auto target = open_process(child);
  ASSERT_TRUE(target.has_value());
  while (!(*target)->open_file("/file").has_value()) ::sched_yield();
  EXPECT_EQ(text_of((*target)->open_file("/link")), "the mapped one");
  EXPECT_EQ(text_of((*target)->open_file("/up")), "the mapped one");
  EXPECT_FALSE((*target)->open_file("/etc/passwd").has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(OpenProcess, NeverShowsAnotherThatTookTheNumber) {
  const auto child = ::fork();
  if (child == 0) ::_exit((::pause(), 0));
  const auto target = open_process(child);
  ASSERT_TRUE(target.has_value());
  ASSERT_TRUE((*target)->mappings().has_value());
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ((*target)->mappings().error().code, Errc::kGone);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ((*target)->mappings().error().code, Errc::kGone);
  EXPECT_EQ((*target)->threads().error().code, Errc::kGone);
  std::uint8_t byte[1];
  EXPECT_EQ((*target)->memory().read(reinterpret_cast<std::uint64_t>(&child), byte), 0U);
}

TEST(OpenProcess, NamesAProcessThatIsNotThere) {
  for (const auto pid : {0, -5, 1 << 30}) {
    const auto none = open_process(pid);
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, Errc::kNotFound);
    EXPECT_THAT(none.error().what, HasSubstr(std::to_string(pid)));
  }
}

}  // namespace
}  // namespace clrscope::inspect
