#include "inspect/answer.h"

#include <fmt/format.h>

namespace clrscope::inspect {
namespace {

WaitAnswer answer_of(const Wait& wait) {
  WaitAnswer answer{.kind = wait.kind,
                    .type = wait.type,
                    .owner_os_id = wait.owner_os_id,
                    .timed = wait.timed,
                    .detail = wait.detail};
  if (wait.object != 0) answer.object = address_text(wait.object);
  return answer;
}

LockAnswer answer_of(const Lock& lock) {
  return {.kind = lock.kind,
          .object = address_text(lock.object),
          .type = lock.type,
          .owner_os_id = lock.owner_os_id,
          .waiters = lock.waiters};
}

ThreadAnswer answer_of(const ThreadView& thread) {
  ThreadAnswer answer{.os_id = thread.os_id(),
                      .name = name_of(thread),
                      .state = state_of(thread),
                      .cpu = thread.os.cpu,
                      .wait_channel = thread.os.wait_channel,
                      .syscall = thread.os.syscall,
                      .whole = thread.whole,
                      .broken = thread.broken};
  if (const auto& runtime = thread.runtime) {
    answer.managed_id = runtime->managed_id;
    answer.background = runtime->background;
    answer.pool = runtime->pool;
    answer.cooperative = runtime->cooperative;
    answer.exception = runtime->exception_type;
  }
  for (const auto& frame : thread.frames) answer.frames.push_back(answer_of(frame));
  if (thread.waiting_for) answer.waiting_for = answer_of(*thread.waiting_for);
  for (const auto object : thread.holds) answer.holds.push_back(address_text(object));
  return answer;
}

}  // namespace

std::string address_text(std::uint64_t address) { return fmt::format("{:#x}", address); }

FrameAnswer answer_of(const Frame& frame) {
  return {.method = frame.method,
          .module = frame.module,
          .kind = frame.kind,
          .file = frame.file,
          .line = frame.line};
}

StacksAnswer answer_of(const Snapshot& seen) {
  StacksAnswer answer{.pid = seen.pid,
                      .process = seen.name,
                      .runtime = seen.runtime,
                      .source = seen.source,
                      .pause = seen.pause,
                      .duration = seen.took,
                      .cycles = seen.cycles,
                      .locks_unread = seen.locks_unread,
                      .pool = seen.pool,
                      .notes = seen.notes};
  for (const auto& thread : seen.threads) answer.threads.push_back(answer_of(thread));
  for (const auto& lock : seen.locks) answer.locks.push_back(answer_of(lock));
  return answer;
}

const Shape& shape_of(const FrameAnswer*) {
  using T = FrameAnswer;
  static const auto shape =
      describe<T>("Frame", "one entry of a stack",
                  {member<&T::method>("method", "method or native function, with its arguments"),
                   member<&T::module>("module", "assembly or library"),
                   member<&T::kind>("kind", "kind of code, where it is known"),
                   member_unless_empty<&T::file>("file", "source file"),
                   member_unless_empty<&T::line>("line", "line in the source file")});
  return shape;
}

const Shape& shape_of(const WaitAnswer*) {
  using T = WaitAnswer;
  static const auto shape = describe<T>(
      "Wait", "what a thread is waiting for",
      {member<&T::kind>("kind", "kind of wait"),
       member_or_null<&T::object>("object", "address of the object, null if unknown"),
       member<&T::type>("type", "type of the object"),
       member_unless_empty<&T::owner_os_id>("ownerOsId", "thread that holds the object"),
       member<&T::timed>("timed", "whether the wait has a timeout"),
       member_unless_empty<&T::detail>("detail", "more about the wait")});
  return shape;
}

const Shape& shape_of(const LockAnswer*) {
  using T = LockAnswer;
  static const auto shape =
      describe<T>("Lock", "a lock that is held or waited for",
                  {member<&T::kind>("kind", "kind of lock"),
                   member<&T::object>("object", "address of the lock object"),
                   member<&T::type>("type", "type of the lock object"),
                   member_unless_empty<&T::owner_os_id>("ownerOsId", "thread that holds the lock"),
                   member<&T::waiters>("waiters", "osId of the threads waiting for the lock")});
  return shape;
}

const Shape& shape_of(const ThreadAnswer*) {
  using T = ThreadAnswer;
  static const auto shape = describe<T>(
      "Thread", "a thread of a process",
      {member<&T::os_id>("osId", "operating system's thread id"),
       member_or_null<&T::managed_id>("managedId", "managed thread id, null for a native thread"),
       member<&T::name>("name", "name given by the program, or the operating system's"),
       member<&T::state>("state", "scheduler state"),
       member<&T::cpu>("cpuMs", "CPU time used so far"),
       member_unless_empty<&T::wait_channel>("waitChannel", "kernel function the thread sleeps in"),
       member<&T::syscall>("syscall", "number of the system call the thread is in"),
       member<&T::background>("background", "whether it is a background thread"),
       member<&T::pool>("pool", "whether it is a thread pool worker"),
       member<&T::cooperative>("cooperative", "whether it is running managed code"),
       member_unless_empty<&T::exception>("exception", "type of the exception it is handling"),
       member<&T::whole>("whole", "whether the stack is complete"),
       member_unless_empty<&T::broken>("broken", "why the stack is incomplete"),
       member<&T::frames>("frames", "stack, innermost frame first"),
       member<&T::waiting_for>("waitingFor", "what the thread is waiting for"),
       member_unless_empty<&T::holds>("holds", "addresses of the locks it holds")});
  return shape;
}

const Shape& shape_of(const Pool*) {
  static const auto shape =
      describe<Pool>("ThreadPool", "the managed thread pool, as far as it is known",
                     {member<&Pool::workers>("workers", "worker threads"),
                      member<&Pool::min_workers>("minWorkers", "minimum number of worker threads"),
                      member<&Pool::max_workers>("maxWorkers", "maximum number of worker threads"),
                      member<&Pool::blocked>("blocked", "workers that are blocked"),
                      member<&Pool::queued>("queued", "work items in the global queue"),
                      member<&Pool::added_for_blocking>(
                          "addedForBlocking", "workers added because others are blocked")});
  return shape;
}

const Shape& shape_of(const StacksAnswer*) {
  using T = StacksAnswer;
  static const auto shape = describe<T>(
      "Stacks", "what every thread of a process does, and who holds which lock",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::runtime>("runtime", ".NET version"),
       member<&T::source>("source", "how threads and locks were read"),
       member<&T::pause>("pauseMs", "time the process was paused"),
       member<&T::duration>("durationMs", "time it took to take the stacks"),
       member<&T::threads>("threads", "threads by osId"),
       member<&T::cycles>("cycles", "deadlocks: osIds, each waiting for the next"),
       member<&T::locks>("locks", "locks that are held or waited for"),
       member<&T::locks_unread>("locksUnread", "locks that could not be read"),
       member<&T::pool>("pool", "thread pool"),
       member<&T::notes>("notes", "what could not be seen, and why")});
  return shape;
}

}  // namespace clrscope::inspect
