#include "inspect/stopped_threads.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/io.h"
#include "inspect/proc_view.h"
#include "inspect/rights.h"

namespace clrscope::inspect {
namespace {

// 'X' when it is not there.
char state_of(pid_t pid, pid_t tid) {
  const auto stat = read_file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  OsThread thread;
  return stat && parse_thread_stat(*stat, thread) ? thread.state : 'X';
}

bool has_ended(pid_t pid, pid_t tid) {
  const auto state = state_of(pid, tid);
  return state == 'Z' || state == 'X';
}

}  // namespace

unwind::Registers registers_of(const user_regs_struct& user) {
  unwind::Registers registers;
  const std::pair<unwind::Reg, std::uint64_t> values[] = {
      {unwind::kRax, user.rax}, {unwind::kRdx, user.rdx}, {unwind::kRcx, user.rcx},
      {unwind::kRbx, user.rbx}, {unwind::kRsi, user.rsi}, {unwind::kRdi, user.rdi},
      {unwind::kRbp, user.rbp}, {unwind::kRsp, user.rsp}, {unwind::kR8, user.r8},
      {unwind::kR9, user.r9},   {unwind::kR10, user.r10}, {unwind::kR11, user.r11},
      {unwind::kR12, user.r12}, {unwind::kR13, user.r13}, {unwind::kR14, user.r14},
      {unwind::kR15, user.r15}, {unwind::kRip, user.rip}};
  for (const auto& [reg, value] : values) registers.set(reg, value);
  return registers;
}

Result<user_regs_struct> StoppedThread::registers() const {
  user_regs_struct user{};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &user) != 0)
    return fail(errc_of(errno), "cannot read the registers of thread {}: {}", tid, errno_text());
  return user;
}

Result<> StoppedThreads::add(std::span<const pid_t> tids) {
  for (const auto tid : tids) {
    if (std::ranges::find(threads_, tid, &StoppedThread::tid) != threads_.end()) continue;
    // No options: should we die, the thread lives on.
    if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
      const auto why = errno;
      if (why == ESRCH || has_ended(pid_, tid)) continue;
      return cannot_trace("stop", pid_, why);
    }
    threads_.push_back({.tid = tid, .moved = TraceClock::now()});
    ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  }
  return {};
}

StoppedThreads::Come StoppedThreads::look(StoppedThread& thread) {
  const auto now = TraceClock::now();
  // Nothing is reaped: should the target be our own child, its end is for others to see.
  siginfo_t info{};
  const auto id = static_cast<id_t>(thread.tid);
  if (::waitid(P_PID, id, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) !=
      0)
    return errno == EINTR ? Come::kNotYet : Come::kGone;
  if (info.si_pid == 0) {
    thread.moved = now;
    return Come::kNotYet;
  }
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return Come::kGone;
  // A stop of our own carries an event; without one the thread is about to get a signal.
  thread.signal = info.si_status >> 8 == 0 ? info.si_status & 0x7f : 0;
  thread.stopped = true;
  return Come::kStopped;
}

bool StoppedThreads::wait(const Deadline& deadline) {
  for (unsigned round = 0;; ++round) {
    bool all = true;
    std::erase_if(threads_, [&](StoppedThread& thread) {
      const auto come = thread.stopped ? Come::kStopped : look(thread);
      all &= come != Come::kNotYet;
      return come == Come::kGone;
    });
    if (all) return true;
    if (deadline.passed()) return false;
    // They need a CPU to come to a stop: give ours away, then wait in small steps.
    if (round < 64)
      ::sched_yield();
    else
      ::poll(nullptr, 0, 1);
  }
}

void StoppedThreads::release() {
  for (const auto& thread : threads_)
    if (thread.stopped) ::ptrace(PTRACE_DETACH, thread.tid, nullptr, thread.signal);
  const auto now = TraceClock::now();
  std::erase_if(threads_, [&](const StoppedThread& thread) {
    if (thread.stopped) pause_ = std::max(pause_, now - thread.moved);
    return thread.stopped;
  });
}

bool StoppedThreads::hangs() const {
  return std::ranges::any_of(threads_, [&](const StoppedThread& thread) {
    return !thread.stopped && state_of(pid_, thread.tid) == 'D';
  });
}

}  // namespace clrscope::inspect
