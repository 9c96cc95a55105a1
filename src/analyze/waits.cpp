#include "analyze/waits.h"

#include <algorithm>

namespace clrscope::analyze {
namespace {

using std::string_view;

struct Sign {
  string_view text;
  WaitReason reason;
};

// Parts of the kernel's names that decide, whatever the rest of the stack looks like.
constexpr std::array<Sign, 8> kDecisive{{
    {"page_fault", WaitReason::kPageFault},
    {"handle_mm_fault", WaitReason::kPageFault},
    {"filemap_fault", WaitReason::kPageFault},
    {"exit_to_user_mode", WaitReason::kRunQueue},
    {"irqentry_exit", WaitReason::kRunQueue},
    {"preempt_schedule", WaitReason::kRunQueue},
    {"cond_resched", WaitReason::kRunQueue},
    {"sched_yield", WaitReason::kRunQueue},
}};

// Beginnings of the names of managed methods.
constexpr std::array<Sign, 21> kManaged{{
    {"System.Threading.Monitor.Wait", WaitReason::kEvent},
    {"System.Threading.Monitor.", WaitReason::kLock},
    {"System.Threading.Lock.", WaitReason::kLock},
    {"System.Threading.ReaderWriterLock", WaitReason::kLock},
    {"System.Threading.SpinLock.", WaitReason::kLock},
    {"System.Threading.LowLevelLifoSemaphore.", WaitReason::kPoolIdle},
    {"System.Threading.PortableThreadPool", WaitReason::kPoolIdle},
    {"System.Threading.Thread.Sleep", WaitReason::kSleep},
    {"System.Threading.Thread.<Sleep>", WaitReason::kSleep},
    {"System.Threading.Thread.Join", WaitReason::kEvent},
    {"System.Threading.ManualResetEventSlim.", WaitReason::kEvent},
    {"System.Threading.SemaphoreSlim.", WaitReason::kEvent},
    {"System.Threading.WaitHandle.", WaitReason::kEvent},
    {"System.Threading.CountdownEvent.", WaitReason::kEvent},
    {"System.Threading.Barrier.", WaitReason::kEvent},
    {"System.Threading.Tasks.Task.", WaitReason::kEvent},
    {"System.Net.Sockets.", WaitReason::kIo},
    {"System.IO.", WaitReason::kIo},
    {"Microsoft.Win32.SafeHandles.SafeFileHandle.", WaitReason::kIo},
    {"Interop+Sys.Read", WaitReason::kIo},
    {"Interop+Sys.Poll", WaitReason::kIo},
}};

// Parts of the names of native and kernel code.
constexpr std::array<Sign, 26> kNativeSigns{{
    {"nanosleep", WaitReason::kSleep},
    {"ep_poll", WaitReason::kIo},
    {"epoll_wait", WaitReason::kIo},
    {"do_poll", WaitReason::kIo},
    {"do_sys_poll", WaitReason::kIo},
    {"do_select", WaitReason::kIo},
    {"pipe_read", WaitReason::kIo},
    {"pipe_write", WaitReason::kIo},
    {"io_schedule", WaitReason::kIo},
    {"tcp_", WaitReason::kIo},
    {"inet_", WaitReason::kIo},
    {"unix_stream", WaitReason::kIo},
    {"sock_", WaitReason::kIo},
    {"vfs_read", WaitReason::kIo},
    {"vfs_write", WaitReason::kIo},
    {"fsync", WaitReason::kIo},
    {"pthread_mutex_lock", WaitReason::kLock},
    {"pthread_cond_", WaitReason::kLockOrEvent},
    {"lll_lock_wait", WaitReason::kLock},
    {"futex", WaitReason::kLockOrEvent},
    {"do_wait", WaitReason::kEvent},
    {"wait4", WaitReason::kEvent},
    {"ppoll", WaitReason::kIo},
    {"sigtimedwait", WaitReason::kEvent},
    {"kthread", WaitReason::kPoolIdle},
    {"worker_thread", WaitReason::kPoolIdle},
}};

bool is_managed(FrameKind kind) {
  return kind == FrameKind::kManaged || kind == FrameKind::kFramework ||
         kind == FrameKind::kDynamic;
}

template <std::size_t N, class Matches>
WaitReason first_sign(const std::array<Sign, N>& signs, Matches&& matches) {
  const auto found = std::find_if(signs.begin(), signs.end(),
                                  [&](const Sign& sign) { return matches(sign.text); });
  return found == signs.end() ? WaitReason::kUnknown : found->reason;
}

// A wait inside the runtime under a method that does not itself wait.
bool entered_runtime(const FrameTable& table, std::span<const FrameId> frames) {
  for (const auto id : frames) {
    const auto kind = table.frame(id).kind;
    if (kind == FrameKind::kRuntime || kind == FrameKind::kGc) return true;
    if (is_managed(kind)) return false;
  }
  return false;
}

// The runtime names its own threads ".NET …", and those of the pool ".NET TP Worker" (Gate), which
// have reasons of their own, as have those that run tasks.
bool is_of_runtime(string_view thread) {
  return thread.starts_with(".NET ") && !thread.starts_with(".NET TP ") &&
         !thread.starts_with(".NET Long ");
}

}  // namespace

bool is_idle(WaitReason reason) {
  return reason == WaitReason::kPoolIdle || reason == WaitReason::kRuntimeIdle;
}

std::span<const string_view> names_of(WaitReason) {
  static constexpr std::array<string_view, kWaitReasons> kNames{
      "unknown",   "lock",     "event",       "poolIdle",      "sleep",        "io",
      "pageFault", "runQueue", "lockOrEvent", "lockOrRuntime", "gcSuspension", "runtimeIdle"};
  return kNames;
}
string_view to_string(WaitReason reason) {
  return names_of(reason)[static_cast<std::size_t>(reason)];
}

string_view words_for(WaitReason reason) {
  constexpr std::array<string_view, kWaitReasons> kWords{
      "unknown",         "lock",          "signal",
      "pool idle",       "sleep",         "IO",
      "page fault",      "no processor",  "lock or signal",
      "lock or runtime", "GC suspension", "runtime idle"};
  return kWords[static_cast<std::size_t>(reason)];
}

WaitReason wait_reason(const FrameTable& table, std::span<const FrameId> frames) {
  for (const auto id : frames) {
    const auto& frame = table.frame(id);
    if (frame.kind != FrameKind::kKernel) break;
    const auto reason = first_sign(
        kDecisive, [&](string_view text) { return frame.method.find(text) != string_view::npos; });
    if (reason != WaitReason::kUnknown) return reason;
  }
  // Only the methods next to the wait say why: further out, a Task runs everything.
  constexpr int kNear = 8;
  int near = 0;
  bool managed = false;
  for (const auto id : frames) {
    const auto& frame = table.frame(id);
    if (!is_managed(frame.kind)) continue;
    managed = true;
    if (frame.kind == FrameKind::kManaged || near++ == kNear) break;
    const auto reason =
        first_sign(kManaged, [&](string_view text) { return frame.method.starts_with(text); });
    if (reason != WaitReason::kUnknown) return reason;
  }
  for (const auto id : frames) {
    const auto& frame = table.frame(id);
    if (is_managed(frame.kind)) break;
    const auto reason = first_sign(kNativeSigns, [&](string_view text) {
      return frame.method.find(text) != string_view::npos;
    });
    if (reason == WaitReason::kLockOrEvent && managed && entered_runtime(table, frames))
      return WaitReason::kLockOrRuntime;
    if (reason != WaitReason::kUnknown) return reason;
  }
  return WaitReason::kUnknown;
}

WaitReason wait_reason(const FrameTable& table, std::span<const FrameId> frames,
                       const StackSamples& samples) {
  const auto seen = wait_reason(table, frames);
  if (samples.preempted) return WaitReason::kRunQueue;
  if (seen == WaitReason::kPageFault || seen == WaitReason::kRunQueue) return seen;
  // Only what the frames leave open: a thread in native code waits for its own reasons meanwhile.
  const bool open = seen == WaitReason::kUnknown || seen == WaitReason::kLockOrEvent ||
                    seen == WaitReason::kLockOrRuntime;
  switch (samples.told) {
    case ClrWait::kLock:
      return WaitReason::kLock;
    case ClrWait::kHandle:
      return open ? WaitReason::kEvent : seen;
    case ClrWait::kGcSuspension:
      return seen == WaitReason::kLockOrRuntime || frames.empty() ? WaitReason::kGcSuspension
                                                                  : seen;
    case ClrWait::kNone:
      break;
  }
  return seen;
}

namespace {

// Of one of the runtime's threads: it runs no method and waits for nothing that can be told.
bool only_waits(const FrameTable& table, std::span<const FrameId> frames, WaitReason reason) {
  if (reason == WaitReason::kRunQueue || reason == WaitReason::kPageFault ||
      reason == WaitReason::kLock || reason == WaitReason::kGcSuspension)
    return false;
  return !frames.empty() &&
         std::ranges::none_of(frames, [&](FrameId id) { return is_managed(table.frame(id).kind); });
}

}  // namespace

FrameId wait_site(FrameTable& table, std::span<const FrameId> frames) {
  const auto first = [&](auto&& fits) {
    return std::find_if(frames.begin(), frames.end(),
                        [&](FrameId id) { return fits(table.frame(id)); });
  };
  auto at = first([](const Frame& frame) { return frame.kind == FrameKind::kManaged; });
  if (at == frames.end()) at = first(is_unnamed_lambda);
  if (at == frames.end()) at = first([](const Frame& frame) { return is_managed(frame.kind); });
  if (at == frames.end())
    at = first([](const Frame& frame) {
      return frame.kind != FrameKind::kKernel && !frame.method.ends_with('?');
    });
  if (at == frames.end())
    at = first([](const Frame& frame) {  // the scheduler is on top of every wait
      return !frame.method.ends_with('?') && frame.method.find("schedule") == string_view::npos;
    });
  if (at != frames.end()) return *at;
  return frames.empty() ? table.intern({.method = "?"}) : frames.front();
}

void WaitSum::add(const StackSamples& samples) {
  count += samples.count;
  ns += samples.value;
  if (samples.unfinished) {
    unfinished += samples.count;
    unfinished_ns += samples.value;
  }
  if (samples.longest > longest_ns) {
    longest_ns = samples.longest;
    longest_thread = samples.thread;
    longest_at = samples.longest_at;
  }
}

void Waits::end_of_trace(const nettrace::Reader& reader) {
  source_.end_of_trace(reader,
                       [this](const StackSamples& samples, std::span<const FrameId> frames) {
                         by_thread_.resize(source_.threads().size());
                         auto& thread = by_thread_[samples.thread];
                         if (source_.threads()[samples.thread].process == ProcessId{0})
                           return;  // idle processors
                         if (samples.what == Sampled::kCpu) {
                           thread.cpu += {samples.count, samples.value};
                           return;
                         }
                         auto reason = wait_reason(frames_, frames, samples);
                         if (is_of_runtime(source_.threads()[samples.thread].name) &&
                             only_waits(frames_, frames, reason))
                           reason = WaitReason::kRuntimeIdle;
                         all_.add(samples);
                         (is_idle(reason) ? idle_ : busy_).add(samples);
                         if (!is_idle(reason)) thread.busy_ns += samples.value;
                         if (frames.empty() && reason == WaitReason::kUnknown)
                           unexplained_.add(samples);
                         by_reason_[static_cast<std::size_t>(reason)].add(samples);
                         by_site_[{wait_site(frames_, frames), reason}].add(samples);
                         thread.waits.add(samples);
                         thread.ns_by_reason[static_cast<std::size_t>(reason)] += samples.value;
                       });
}

}  // namespace clrscope::analyze
