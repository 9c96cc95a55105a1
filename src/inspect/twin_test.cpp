#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "inspect/headroom.h"
#include "inspect/inject_x64.h"
#include "inspect/rights.h"
#include "inspect/target.h"
#include "inspect/twin_supervisor.h"

namespace clrscope::inspect {
namespace {

using testing::HasSubstr;

// What a child of ours tells us, in memory that both have. Its own memory is what the twin copies.
struct Shared {
  std::atomic<std::uint64_t> beats = 0;
  std::atomic<std::uint64_t> signals = 0;
  std::atomic<std::uint64_t> wrong = 0;   // sums that came out wrong
  std::atomic<std::uint64_t> failed = 0;  // waits that failed
  std::atomic<int> ready = 0;
  std::atomic<std::uint64_t> number = 0;  // address of a number that only grows
};
Shared* shared = nullptr;
std::atomic<std::uint64_t> growing = 0;  // the child's own
std::uint32_t collecting = 0;            // likewise: stands for the GC's count

void on_signal(int) { shared->signals.fetch_add(1); }

void sum_for_ever() {
  ++shared->ready;
  for (;;) {
    double sum = 0;  // in registers that only the extended state holds
    for (int i = 0; i < 1000; ++i) sum += i * 0.5;
    if (sum != 249750) shared->wrong.fetch_add(1);
    growing.fetch_add(1);
    shared->beats.fetch_add(1);
  }
}

// Waits that are interrupted and made again: without a limit, with one, and by poll.
void wait_for_ever() {
  static std::atomic<int> never = 0;
  ++shared->ready;
  for (;;) {
    timespec limit{0, 3'000'000};
    const auto done = ::syscall(SYS_futex, &never, 0, 0, &limit, nullptr, 0);
    if (done == 0 || (errno != ETIMEDOUT && errno != EINTR)) shared->failed.fetch_add(1);
    if (::poll(nullptr, 0, 1) > 0) shared->failed.fetch_add(1);
  }
}

class Twins : public testing::Test {
 protected:
  void start(bool no_clone = false) {
    auto* const page =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    shared = std::construct_at(static_cast<Shared*>(page));
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::signal(SIGRTMIN + 3, on_signal);
      shared->number = reinterpret_cast<std::uint64_t>(&growing);
      std::thread{sum_for_ever}.detach();
      std::thread{wait_for_ever}.detach();
      while (shared->ready < 2) ::sched_yield();
      if (no_clone) forbid_copies();
      ++shared->ready;
      wait_for_ever();
    }
    while (shared->ready < 4) ::sched_yield();
  }
  void TearDown() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(shared, sizeof(Shared));
  }

  // clone() that makes a process, not a thread, answers "not permitted".
  static void forbid_copies() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(code), code};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  }

  void expect_health() const {
    const auto before = shared->beats.load();
    while (shared->beats.load() == before) ::sched_yield();
    EXPECT_EQ(shared->wrong, 0U);
    EXPECT_EQ(shared->failed, 0U);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT), 0);
    EXPECT_EQ(info.si_pid, 0) << "it has ended";
    while (trace_facts(child_).tracer != 0) ::sched_yield();  // a reaper of ours, at most
  }
  // Its children, by state.
  std::string children() const {
    std::string states;
    const auto pids = all_pids();
    for (const auto pid : *pids) {
      const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
      if (!stat) continue;
      const auto fields = split(std::string_view{*stat}.substr(stat->rfind(')') + 2), ' ');
      if (parse_number(fields[1]) == static_cast<std::uint64_t>(child_)) states += fields[0];
    }
    return states;
  }
  void expect_no_child_in_the_end(std::string_view most) const {
    for (;;) {  // ends soon after its tracer
      const auto states = children();
      if (states.find_first_not_of(most) == states.npos) return;
      ::sched_yield();
    }
  }
  static std::uint64_t number_in(Target& target) {
    std::uint64_t value = 0;
    EXPECT_EQ(target.memory().read(shared->number, {reinterpret_cast<std::uint8_t*>(&value), 8}),
              8U);
    return value;
  }

  static unsigned kills() { return std::getenv("CLRSCOPE_LONG") ? 120 : 20; }

  pid_t child_ = 0;
};

TEST_F(Twins, StandStillWhileTheProcessGoesOn) {
  start();
  {
    const auto twin = make_twin(child_);
    ASSERT_TRUE(twin.has_value()) << twin.error().what;
    EXPECT_GT(twin->cost.pause.count(), 0);
    EXPECT_EQ(twin->target->pid(), child_);
    const auto then = number_in(*twin->target);
    const auto live = open_process(child_);
    while (number_in(**live) < then + 1000) ::sched_yield();
    EXPECT_EQ(number_in(*twin->target), then);
    const auto threads = twin->target->threads();
    ASSERT_EQ(threads->size(), 3U);
    for (const auto& thread : *threads) EXPECT_TRUE(thread.registers.knows(unwind::kRbp));
    EXPECT_EQ(twin->target->mappings()->size(), (*live)->mappings()->size());
    EXPECT_EQ(children().size(), 1U);
  }
  EXPECT_EQ(children(), "");
  expect_health();
}

TEST_F(Twins, LeaveNoTraceInManyRounds) {
  start();
  std::uint64_t sent = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) sigqueue(child_, SIGRTMIN + 3, {}), ++sent;
    const auto twin = make_twin(child_);
    ASSERT_TRUE(twin.has_value()) << twin.error().what;
    for (int i = 0; i < 5; ++i) sigqueue(child_, SIGRTMIN + 3, {}), ++sent;
  }
  while (shared->signals < sent) ::sched_yield();
  EXPECT_EQ(shared->signals, sent);
  EXPECT_EQ(children(), "");
  expect_health();
}

TEST_F(Twins, EndWithASupervisorThatIsKilledAtAnyTime) {
  start();
  for (unsigned round = 0; round < kills(); ++round) {
    const auto maker = ::fork();
    if (maker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) (void)make_twin(child_);
    }
    // The supervisor is the only child of the maker.
    const auto path =
        "/proc/" + std::to_string(maker) + "/task/" + std::to_string(maker) + "/children";
    pid_t supervisor = 0;
    while (supervisor == 0)
      if (const auto text = read_file(path)) supervisor = std::atoi(text->c_str());
    for (unsigned i = 0; i < round * 37 % 101; ++i) ::sched_yield();
    ::kill(supervisor, SIGKILL);
    for (unsigned i = 0; i < round % 3; ++i) ::sched_yield();
    ::kill(maker, SIGKILL);
    ::waitpid(maker, nullptr, 0);
    expect_no_child_in_the_end("Z");
    expect_health();
  }
  while (!make_twin(child_).has_value()) ::sched_yield();  // the last one may still be there
  expect_no_child_in_the_end("");                          // the next visit cleans up
}

TEST_F(Twins, EndWhenWeAreKilledAtAnyTime) {
  start();
  for (unsigned round = 0; round < kills(); ++round) {
    const auto maker = ::fork();
    if (maker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) (void)make_twin(child_);
    }
    for (unsigned i = 0; i < round * 37 % 101; ++i) ::sched_yield();
    ::kill(maker, SIGKILL);
    ::waitpid(maker, nullptr, 0);
    expect_no_child_in_the_end("");
    expect_health();
  }
}

TEST_F(Twins, AreReapedAlsoWhenTheirSupervisorWasKilled) {
  start();
  {
    const auto supervisor = TwinSupervisor::start(child_, {});
    ASSERT_TRUE(supervisor.has_value()) << supervisor.error().what;
    ::kill((*supervisor)->own_pid(), SIGKILL);
    expect_no_child_in_the_end("Z");
  }
  EXPECT_EQ(children(), "");
  expect_health();
}

TEST_F(Twins, AreNotMadeDuringACollection) {
  collecting = 1;
  start();
  collecting = 0;
  const auto counter = reinterpret_cast<std::uint64_t>(&collecting);
  std::thread done{[&] {  // the collection ends a little later
    ::poll(nullptr, 0, 50);
    const UniqueFd memory{::open(("/proc/" + std::to_string(child_) + "/mem").c_str(), O_RDWR)};
    const std::uint32_t none = 0;
    EXPECT_EQ(::pwrite(memory.get(), &none, 4, static_cast<off_t>(counter)), 4);
  }};
  const auto twin = make_twin(child_, {.gc_invalid_counter = counter});
  done.join();
  ASSERT_TRUE(twin.has_value()) << twin.error().what;
  std::uint32_t then = 1;
  twin->target->memory().read(counter, {reinterpret_cast<std::uint8_t*>(&then), 4});
  EXPECT_EQ(then, 0U);
}

TEST_F(Twins, AreRefusedWhereCloneIsForbidden) {
  start(true);
  const auto twin = make_twin(child_);
  ASSERT_FALSE(twin.has_value());
  EXPECT_EQ(twin.error().code, Errc::kDenied);
  EXPECT_THAT(twin.error().hint, HasSubstr("seccomp"));
  expect_health();
}

TEST_F(Twins, OfNobodyAreAnError) { EXPECT_EQ(make_twin(1 << 30).error().code, Errc::kNotFound); }

TEST(Headroom, IsTheLeastOfAllGroupsAbove) {
  std::string root = "/tmp/clrscope-groups-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const auto put = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path{root + path}.parent_path());
    std::ofstream{root + path} << text << '\n';
  };
  put("/pod/app/memory.max", "max");
  put("/pod/app/memory.current", "500");
  put("/pod/memory.max", "1000");
  put("/pod/memory.current", "900");
  put("/pod/memory.stat", "anon 1\ninactive_file 200\n");
  EXPECT_EQ(cgroup_headroom("0::/pod/app\n", root), 300U);
  put("/memory/old/memory.limit_in_bytes", "5000");
  put("/memory/old/memory.usage_in_bytes", "4900");
  EXPECT_EQ(cgroup_headroom("4:cpu,memory:/old\n0::/\n", root), 100U);
  EXPECT_EQ(cgroup_headroom("4:cpu:/old\n", root), ~std::uint64_t{0});
  EXPECT_EQ(cgroup_headroom("garbage", root), ~std::uint64_t{0});
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace clrscope::inspect
