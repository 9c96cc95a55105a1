// A snapshot of a process: what each thread does, its locks, who holds them and who waits.
//
// Data only; take_snapshot.h makes it. Everything that is unknown is empty or nothing, never
// guessed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/runtime_reader.h"
#include "inspect/target.h"

namespace clrscope::inspect {

enum class FrameKind : std::uint8_t { kManaged, kFramework, kRuntime, kNative, kStub };
std::string_view name_of(FrameKind kind);  // "managed", "framework", …
std::span<const std::string_view> names_of(FrameKind);

struct Frame {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::string method{};  // with arguments; a native function's name; empty: unknown
  std::string module{};  // "Shop.Core", "libc.so.6"
  FrameKind kind = FrameKind::kNative;
  std::string file{};  // only when lines were asked for and found
  std::uint32_t line = 0;
};

enum class WaitKind : std::uint8_t {
  kMonitor,       // lock (object)
  kMonitorWait,   // Monitor.Wait
  kLock,          // System.Threading.Lock
  kReaderWriter,  // ReaderWriterLockSlim
  kSemaphore,     // SemaphoreSlim
  kEvent,         // ManualResetEventSlim
  kTask,          // Task.Wait, Task.Result
  kJoin,          // Thread.Join
  kWaitHandle,    // WaitHandle.WaitOne and kin: a kernel-like event of the runtime
  kSleep,
  kPoolIdle,         // a pool worker without work
  kIo,               // a system call that waits for input or output
  kTypeInitializer,  // a static constructor that another thread runs
};
std::string_view name_of(WaitKind kind);  // as a person says it: "Monitor", "Task", …
std::span<const std::string_view> names_of(WaitKind);

// What a thread waits for.
struct Wait {
  WaitKind kind = WaitKind::kMonitor;
  std::uint64_t object = 0;       // 0: unknown, or none
  std::string type{};             // of the object
  std::uint32_t owner_os_id = 0;  // 0: nobody, or unknown
  bool timed = false;             // ends by itself at some time
  std::string detail{};           // "state 0 of 2 readers", "waits for Shop.Load() at await 1" …
};

// A match by a regular expression that a thread is in.
struct RegexCall {
  std::string pattern{};     // its beginning
  std::uint64_t text = 0;    // address of the string that is matched
  std::uint32_t length = 0;  // of it, in characters
};

struct Lock {
  WaitKind kind = WaitKind::kMonitor;
  std::uint64_t object = 0;
  std::string type{};
  std::uint32_t owner_os_id = 0;
  std::uint32_t recursion = 0;
  std::vector<std::uint32_t> waiters{};  // OS ids
};

struct ThreadView {
  OsThread os{};
  std::optional<RuntimeThread> runtime{};  // nothing: a native thread
  std::vector<Frame> frames{};             // innermost first
  bool whole = false;                      // the walk reached the thread's root
  std::string broken{};                    // why not
  bool running = false;                    // was on a CPU (or ready) when looked at
  std::optional<Wait> waiting_for{};
  std::vector<std::uint64_t> holds{};  // lock objects
  std::optional<RegexCall> regex{};    // the innermost

  std::uint32_t os_id() const { return static_cast<std::uint32_t>(os.namespace_tid); }
};

// As the program named it, or the operating system.
const std::string& name_of(const ThreadView& thread);

// What the scheduler says of a thread.
enum class RunState : std::uint8_t {
  kRunning,
  kSleeping,
  kInKernel,  // waits, and no signal ends that
  kStopped,
  kTraced,
  kDead,
  kUnknown,
};
RunState state_of(const ThreadView& thread);
std::string_view name_of(RunState state);  // "running", "sleeping", "in the kernel" …
std::span<const std::string_view> names_of(RunState);

// The managed thread pool.
struct Pool {
  std::optional<std::uint32_t> workers{}, min_workers{}, max_workers{}, blocked{}, queued{};
  std::optional<std::uint32_t> added_for_blocking{};
};

struct Snapshot {
  pid_t pid = 0;
  std::string name{};
  std::string runtime{};  // "10.0.12"
  SnapshotSource source = SnapshotSource::kNone;
  TargetKind target = TargetKind::kLive;
  std::chrono::system_clock::time_point taken{};
  std::chrono::nanoseconds took{};
  std::chrono::nanoseconds pause{};                  // that the process stood still; 0: not at all
  std::vector<ThreadView> threads{};                 // by OS id
  std::vector<RuntimeThread> without_os_thread{};    // dead or not yet started, still referenced
  std::vector<Lock> locks{};                         // held or waited for
  std::uint64_t locks_unread = 0;                    // that the runtime has and we cannot see
  std::vector<std::vector<std::uint32_t>> cycles{};  // OS ids: each waits for the next
  std::optional<Pool> pool{};
  std::vector<std::string> notes{};  // what could not be seen, and why, a line each
};

}  // namespace clrscope::inspect
