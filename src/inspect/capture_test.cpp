#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/proc.h"
#include "inspect/rights.h"
#include "inspect/target.h"

namespace clrscope::inspect {
namespace {

using testing::HasSubstr;

// What a child of ours tells us, in memory that both have.
struct Shared {
  std::atomic<std::uint64_t> beats = 0;
  std::atomic<std::uint64_t> signals = 0;
  std::atomic<pid_t> tids[3] = {};
  std::atomic<std::uint64_t> mark = 0;  // an address on the stack of the marked thread
};

Shared* shared = nullptr;

void beat_for_ever(int index) {
  volatile std::uint64_t mark[4] = {0x1122334455667788, 0x99aabbccddeeff00, 0, 0};
  shared->mark = reinterpret_cast<std::uint64_t>(&mark);
  shared->tids[index] = static_cast<pid_t>(::syscall(SYS_gettid));
  for (;;) shared->beats.fetch_add(mark[0] != 0);
}

void on_signal(int) { shared->signals.fetch_add(1); }

class Capturing : public testing::Test {
 protected:
  void SetUp() override {
    auto* const page =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    shared = std::construct_at(static_cast<Shared*>(page));
    child_ = ::fork();
    if (child_ == 0) {
      ::signal(SIGRTMIN + 3, on_signal);
      std::thread sleeper{[] {
        shared->tids[1] = static_cast<pid_t>(::syscall(SYS_gettid));
        timespec long_time{1000, 0};
        while (::nanosleep(&long_time, &long_time) != 0) {
        }
      }};
      beat_for_ever(0);
    }
    while (shared->tids[0] == 0 || shared->tids[1] == 0) ::sched_yield();
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(shared, sizeof(Shared));
  }
  std::vector<pid_t> both() const { return {shared->tids[0], shared->tids[1]}; }
  static void expect_it_goes_on() {
    const auto before = shared->beats.load();
    while (shared->beats.load() == before) ::sched_yield();
  }
  char state() const { return proc_status(child_)->state; }

  pid_t child_ = 0;
};

TEST_F(Capturing, TakesRegistersAndStackOfARunningThread) {
  const auto capture = capture_threads(child_, both(), 64 << 10);
  ASSERT_TRUE(capture.has_value()) << capture.error().what;
  ASSERT_EQ(capture->threads.size(), 2U);
  EXPECT_GT(capture->pause.count(), 0);
  const auto& thread = capture->threads[0];
  EXPECT_EQ(thread.tid, child_);
  EXPECT_TRUE(thread.registers.knows(unwind::kRbx));
  EXPECT_EQ(thread.stack_address, thread.registers[unwind::kRsp] - 128);
  const auto mark = shared->mark - thread.stack_address;
  ASSERT_LE(mark + 16, thread.stack.size());
  std::uint64_t words[2];
  std::memcpy(words, thread.stack.data() + mark, sizeof words);
  EXPECT_EQ(words[0], 0x1122334455667788U);
  EXPECT_EQ(words[1], 0x99aabbccddeeff00U);
  expect_it_goes_on();
}

TEST_F(Capturing, LosesNoSignal) {
  constexpr std::uint64_t kSignals = 500;
  std::atomic<bool> sent = false;
  std::thread sender{[&] {
    for (std::uint64_t i = 0; i < kSignals; ++i) {
      sigqueue(child_, SIGRTMIN + 3, {});  // queued, never merged
      while (shared->signals <= i && i % 7 == 0) ::sched_yield();
    }
    sent = true;
  }};
  while (!sent || shared->signals < kSignals)
    ASSERT_TRUE(capture_threads(child_, both(), 4096).has_value());
  sender.join();
  EXPECT_EQ(shared->signals, kSignals);
}

TEST_F(Capturing, LeavesAStoppedProcessStopped) {
  ::kill(child_, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED | WNOWAIT), 0);
  const auto capture = capture_threads(child_, both(), 4096);
  ASSERT_TRUE(capture.has_value()) << capture.error().what;
  EXPECT_EQ(capture->threads.size(), 2U);
  while (state() != 'T') ::sched_yield();
  ::kill(child_, SIGCONT);
  expect_it_goes_on();
}

TEST_F(Capturing, SkipsThreadsThatAreNotThere) {
  const pid_t tids[] = {shared->tids[1], ::getpid(), 1 << 30, -1};
  const auto capture = capture_threads(child_, tids, 4096);
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 1U);
  EXPECT_EQ(capture->threads[0].tid, tids[0]);
  EXPECT_EQ(capture_threads(1 << 30, tids, 4096).error().code, Errc::kNotFound);
}

TEST_F(Capturing, NamesTheOtherTracer) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto tracer = ::fork();
  if (tracer == 0) {
    const bool traces = ::ptrace(PTRACE_SEIZE, child_, nullptr, nullptr) == 0;
    if (!traces || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto capture = capture_threads(child_, both(), 4096);
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ASSERT_FALSE(capture.has_value());
  EXPECT_EQ(capture.error().code, Errc::kDenied);
  EXPECT_THAT(capture.error().what, HasSubstr("(" + std::to_string(tracer) + ")"));
  EXPECT_THAT(capture.error().hint, HasSubstr("one tracer"));
  expect_it_goes_on();
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Capturing, IsRefusedToOthersWithAHint) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  const auto other = ::fork();
  if (other == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(9);
    const auto capture = capture_threads(child_, both(), 4096);
    const auto memory = open_process(child_);
    const bool denied = !capture && capture.error().code == Errc::kDenied && !memory &&
                        memory.error().code == Errc::kDenied &&
                        capture.error().hint.find("(root)") != std::string::npos;
    ::_exit(denied ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  expect_it_goes_on();
}

TEST_F(Capturing, LeavesNothingBehindWheneverItIsKilled) {
  std::uint64_t sent = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const auto killed = ::fork();
    if (killed == 0)
      for (;;) (void)capture_threads(child_, both(), 1 << 20);
    // Sleeps, because a yield beside busy programs lasts as long as a turn of each of them.
    for (unsigned i = 0; i < round * 37 % 211; i += 16) {
      sigqueue(child_, SIGRTMIN + 3, {}), ++sent;
      std::this_thread::sleep_for(std::chrono::microseconds{16 + round % 16});
    }
    ::kill(killed, SIGKILL);
    ::waitpid(killed, nullptr, 0);
    expect_it_goes_on();
  }
  while (shared->signals < sent) ::sched_yield();
  EXPECT_EQ(shared->signals, sent);
  EXPECT_EQ(trace_facts(child_).tracer, 0);
}

}  // namespace
}  // namespace clrscope::inspect
