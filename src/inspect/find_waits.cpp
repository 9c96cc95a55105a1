#include "inspect/find_waits.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "inspect/initializer_waits.h"
#include "inspect/locks/lock_kind.h"
#include "inspect/tasks.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostFrames = 32;        // of the framework, between the wait and its caller
constexpr std::uint64_t kWithoutCaller = 512;  // bytes of an outermost frame that are looked at

// From here outward it is no longer the wait, but work that a wait or a queue runs.
constexpr std::array<std::string_view, 5> kRunners{
    "System.Threading.ExecutionContext.Run",
    "System.Threading.Tasks.Task.ExecuteWithThreadLocal",
    "System.Threading.Tasks.Task.ExecuteEntry",
    "System.Threading.ThreadPoolWorkQueue.Dispatch",
    "System.Threading.Thread.StartCallback",
};

bool begins_with_one_of(const std::string& method, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](auto one) { return method.starts_with(one); });
}

bool is_managed(const Frame& frame) {
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
}

std::uint64_t end_of(const ThreadView& thread, std::size_t frame) {
  const auto& frames = thread.frames;
  return frame + 1 < frames.size() ? frames[frame + 1].sp : frames[frame].sp + kWithoutCaller;
}

class Finder {
 public:
  Finder(WaitScene scene) : scene_(scene), frames_(scene.thread.frames) {}

  std::optional<Wait> run() {
    if (scene_.thread.running || !scene_.thread.runtime || frames_.empty()) return std::nullopt;
    const auto is_first = std::ranges::find_if(frames_, is_managed);
    if (is_first == frames_.end()) return std::nullopt;
    first_ = static_cast<std::size_t>(is_first - frames_.begin());
    auto wait = by_name();
    if (!wait) wait = by_type_initializer();
    if (!wait) wait = by_contended_monitor();
    if (!wait) wait = by_system_call();
    if (wait && wait->type.empty()) wait->type = scene_.objects.type_name(wait->object);
    return wait;
  }

 private:
  std::optional<Wait> by_name() {
    std::size_t last = first_;
    while (last < frames_.size() && last < first_ + kMostFrames &&
           frames_[last].kind == FrameKind::kFramework &&
           !begins_with_one_of(frames_[last].method, kRunners))
      ++last;
    for (const auto* kind : lock_kinds())
      for (auto at = last; at > first_; --at) {
        if (!begins_with_one_of(frames_[at - 1].method, kind->methods)) continue;
        Wait wait{.kind = kind->kind, .timed = is_timed(scene_.thread.os)};
        scene_.until = end_of(scene_.thread, at - 1);
        kind->examine(scene_, wait);
        return wait;
      }
    return std::nullopt;
  }

  bool blocked_in_runtime() const {
    const bool in_runtime =
        std::any_of(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(first_),
                    [](const Frame& frame) { return frame.kind == FrameKind::kRuntime; });
    return in_runtime && scene_.thread.os.syscall.value_or(SYS_futex) == SYS_futex;
  }

  std::optional<Wait> by_type_initializer() {
    if (!blocked_in_runtime()) return std::nullopt;
    scene_.until = frames_[first_].sp;
    return find_initializer_wait(scene_);
  }

  // Where the runtime waits in native code, right below the method that locks.
  std::optional<Wait> by_contended_monitor() {
    if (!blocked_in_runtime()) return std::nullopt;
    for (const auto* kind : lock_kinds()) {
      if (kind->kind != WaitKind::kMonitor) continue;
      Wait wait{.kind = WaitKind::kMonitor, .timed = is_timed(scene_.thread.os)};
      scene_.until = frames_[first_].sp;
      kind->examine(scene_, wait);
      if (wait.object != 0) return wait;
    }
    return std::nullopt;
  }

  std::optional<Wait> by_system_call() const {
    const auto call = scene_.thread.os.syscall ? io_call(*scene_.thread.os.syscall) : "";
    if (call.empty()) return std::nullopt;
    return Wait{
        .kind = WaitKind::kIo, .timed = is_timed(scene_.thread.os), .detail = std::string{call}};
  }

  WaitScene scene_;
  const std::vector<Frame>& frames_;
  std::size_t first_ = 0;  // the innermost managed frame
};

// Whether a thread is at this moment running the task: it lies on the stack of a method that runs
// tasks.
bool runs_task(const ThreadView& thread, const StackImage& image, std::uint64_t task) {
  constexpr std::array<std::string_view, 3> kMethods{
      "System.Threading.Tasks.Task.ExecuteWithThreadLocal",
      "System.Threading.Tasks.Task.ExecuteEntry",
      "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
  };
  const unwind::StackCopy stack{image.address, image.bytes};
  for (std::size_t i = 1; i < thread.frames.size(); ++i) {
    if (!begins_with_one_of(thread.frames[i].method, kMethods)) continue;
    std::uint64_t word = 0;
    for (auto at = thread.frames[i - 1].sp; at < end_of(thread, i) && stack.read(at, word); at += 8)
      if (word == task) return true;
  }
  return false;
}

// The thread that a task cannot end without.
const ThreadView* runner_of(const Snapshot& seen, const std::vector<StackImage>& stacks,
                            Objects& objects, std::uint64_t task, std::size_t waiter) {
  for (const auto one : follow_task(objects, task).tasks)
    for (std::size_t i = 0; i < seen.threads.size(); ++i)
      if (i != waiter && runs_task(seen.threads[i], stacks[i], one)) return &seen.threads[i];
  return nullptr;
}

}  // namespace

std::vector<std::optional<Wait>> find_waits(const Snapshot& seen,
                                            const std::vector<StackImage>& stacks, Objects& objects,
                                            const std::vector<SyncBlock>& monitors) {
  std::vector<std::optional<Wait>> waits;
  for (std::size_t i = 0; i < seen.threads.size(); ++i)
    waits.push_back(Finder{
        {.seen = seen,
         .thread = seen.threads[i],
         .stack = stacks[i],
         .objects = objects,
         .monitors =
             monitors}}.run());
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (waits[i] && waits[i]->kind == WaitKind::kTask && waits[i]->object != 0 &&
        waits[i]->owner_os_id == 0)
      if (const auto* runner = runner_of(seen, stacks, objects, waits[i]->object, i))
        waits[i]->owner_os_id = runner->os_id();
  return waits;
}

bool is_timed(const OsThread& thread) {
  const auto& registers = thread.registers;
  switch (thread.syscall.value_or(-1)) {
    case SYS_futex:
      return registers.knows(unwind::kR10) && registers[unwind::kR10] != 0;
    case SYS_poll:
      return registers.knows(unwind::kRdx) &&
             static_cast<std::int32_t>(registers[unwind::kRdx]) >= 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return registers.knows(unwind::kR10) &&
             static_cast<std::int32_t>(registers[unwind::kR10]) >= 0;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_restart_syscall:  // a wait with a timeout goes on as this after a stop
      return true;
    default:
      return false;
  }
}

std::string_view io_call(int number) {
  switch (number) {
    case SYS_read:
      return "read";
    case SYS_write:
      return "write";
    case SYS_pread64:
      return "pread";
    case SYS_poll:
    case SYS_ppoll:
      return "poll";
    case SYS_select:
      return "select";
    case SYS_connect:
      return "connect";
    case SYS_accept:
    case SYS_accept4:
      return "accept";
    case SYS_recvfrom:
    case SYS_recvmsg:
      return "receive";
    case SYS_sendto:
    case SYS_sendmsg:
      return "send";
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return "epoll_wait";
    case SYS_openat:
      return "open";
    case SYS_fsync:
      return "fsync";
    case SYS_flock:
      return "flock";
    case SYS_wait4:
    case SYS_waitid:
      return "wait for a child process";
    default:
      return {};
  }
}

}  // namespace clrscope::inspect
