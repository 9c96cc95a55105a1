#include "inspect/thread_stacks.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "inspect/proc_view.h"
#include "inspect/take_snapshot.h"

namespace clrscope::inspect {
namespace {

// A thread of ours that waits for a byte, again and again, with a number on its stack.
class RememberedStacks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(ends_), 0);
    waiter_ = std::thread{[this] {
      volatile std::uint64_t mark = kMark;
      mark_ = &mark;
      tid_ = static_cast<pid_t>(::syscall(SYS_gettid));
      char byte = 0;
      while (::read(ends_[0], &byte, 1) == 1) rounds_.fetch_add(mark != 0 ? 1 : 0);
    }};
    auto target = open_process(::getpid());
    ASSERT_TRUE(target.has_value());
    target_ = *std::move(target);
    auto walker = Walker::of(*target_, nullptr);
    ASSERT_TRUE(walker.has_value());
    walker_ = *std::move(walker);
    wait_until_blocked();
  }
  void TearDown() override {
    ::close(ends_[1]);
    waiter_.join();
    ::close(ends_[0]);
  }

  void wait_until_blocked() {
    const auto proc = ProcView::open(::getpid());
    ASSERT_TRUE(proc.has_value());
    OsThread thread;
    while (tid_ == 0 || thread.syscall != SYS_read || thread.state != 'S')
      thread = proc->thread(tid_, false).value_or(OsThread{});
  }
  ThreadStack look() {
    auto seen = take_stacks(*target_, *walker_, StopPolicy::kNever, &memo_);
    EXPECT_TRUE(seen.has_value());
    const auto at = std::ranges::find(seen->threads, tid_.load(),
                                      [](const ThreadStack& one) { return one.os.tid; });
    EXPECT_NE(at, seen->threads.end());
    return at == seen->threads.end() ? ThreadStack{} : std::move(*at);
  }
  std::uint64_t mark_on(const ThreadStack& thread) {
    std::uint64_t word = 0;
    const unwind::StackCopy copy{thread.stack.address, thread.stack.bytes};
    EXPECT_TRUE(copy.read(reinterpret_cast<std::uint64_t>(mark_.load()), word));
    return word;
  }

  static constexpr std::uint64_t kMark = 0x1122334455667788;
  int ends_[2] = {};
  std::atomic<pid_t> tid_ = 0;
  std::atomic<int> rounds_ = 0;
  std::atomic<volatile std::uint64_t*> mark_ = nullptr;
  std::thread waiter_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<Walker> walker_;
  StackMemo memo_;
};

TEST_F(RememberedStacks, AThreadThatHasNotRunIsWhereItWas) {
  const auto first = look();
  EXPECT_FALSE(first.unchanged);
  ASSERT_TRUE(first.walked.whole()) << first.broken;
  const auto second = look();
  EXPECT_TRUE(second.unchanged);
  EXPECT_EQ(second.os.syscall, SYS_read);
  EXPECT_EQ(second.os.namespace_tid, first.os.namespace_tid);
  EXPECT_EQ(second.walked.frames.size(), first.walked.frames.size());
}

TEST_F(RememberedStacks, AThreadThatHasRunIsReadAnew) {
  (void)look();
  ASSERT_EQ(::write(ends_[1], "x", 1), 1);
  while (rounds_ == 0) ::sched_yield();
  wait_until_blocked();
  const auto again = look();
  EXPECT_FALSE(again.unchanged);
  EXPECT_TRUE(again.walked.whole()) << again.broken;
  EXPECT_TRUE(look().unchanged);
}

TEST_F(RememberedStacks, TheStackOfAThreadThatHasNotRunIsReadAgain) {
  EXPECT_EQ(mark_on(look()), kMark);
  *mark_.load() = 42;  // as a collection writes to it that moves an object
  const auto again = look();
  EXPECT_TRUE(again.unchanged);
  EXPECT_EQ(mark_on(again), 42U);
}

TEST_F(RememberedStacks, NamesAreMadeAnewWhenOthersAreAskedFor) {
  SnapshotMemo memo;
  const auto methods = [&](bool native) {
    std::vector<std::string> names;
    const auto seen =
        take_snapshot(*target_, nullptr, {.native = native, .stop = StopPolicy::kNever}, &memo);
    EXPECT_TRUE(seen.has_value());
    const auto at = std::ranges::find(seen->threads, tid_.load(),
                                      [](const ThreadView& one) { return one.os.tid; });
    EXPECT_NE(at, seen->threads.end());
    if (at != seen->threads.end())
      for (const auto& frame : at->frames) names.push_back(frame.method);
    return names;
  };
  const auto is_empty = [](const std::string& name) { return name.empty(); };
  const auto first = methods(true);
  EXPECT_FALSE(std::ranges::all_of(first, is_empty));
  EXPECT_TRUE(memo.frames.contains(tid_));
  EXPECT_EQ(methods(true), first);
  const auto without = methods(false);
  EXPECT_EQ(without.size(), first.size());
  EXPECT_TRUE(std::ranges::all_of(without, is_empty));
  EXPECT_EQ(methods(true), first);
}

TEST_F(RememberedStacks, AThreadThatHasEndedIsForgotten) {
  std::atomic<pid_t> tid = 0;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread other{[&] {
    tid = static_cast<pid_t>(::syscall(SYS_gettid));
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  }};
  while (!memo_.threads.contains(tid)) {
    ASSERT_TRUE(walker_->look_again().has_value());  // its stack has just been mapped
    (void)look();
  }
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  other.join();
  (void)look();
  EXPECT_FALSE(memo_.threads.contains(tid));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace clrscope::inspect
