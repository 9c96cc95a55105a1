// Async methods that have not finished: what each one awaits, and who awaits it in turn.
//
//   auto heap = TRY(read_heap(*twin.target, *reader, {}));
//   auto threads = TRY(take_snapshot(*twin.target, reader.get(), {}));
//   auto seen = read_async(*twin.target, *reader, heap, &threads);
//
// A logical async stack begins with what the innermost method waits for and leads over the methods
// that await each other to the outermost one. A task that several methods await gives one stack for
// each of them. Everything comes from objects of the heap: what they do not tell is unknown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"
#include "model/heap.h"

namespace clrscope::inspect {

enum class AwaitKind : std::uint8_t {
  kUnknown,
  kDelay,             // Task.Delay, PeriodicTimer
  kCompletionSource,  // a TaskCompletionSource that nobody has completed
  kSemaphore,         // SemaphoreSlim.WaitAsync
  kChannel,
  kSocket,
  kFile,
  kPipe,             // System.IO.Pipelines
  kValueTaskSource,  // another IValueTaskSource
  kTask,             // Task.Run and kin: queued, or running on a thread
  kRunning,          // the innermost method runs at this moment
  kReady,            // what it awaited is done: it is queued to go on
  kCycle,            // tasks that await each other
};
std::string_view name_of(AwaitKind kind);  // as a person says it: "Task.Delay", "SemaphoreSlim" …
std::span<const std::string_view> names_of(AwaitKind);

// What the innermost method of a stack waits for.
struct AsyncWait {
  AwaitKind kind = AwaitKind::kUnknown;
  std::uint64_t object = 0;  // a semaphore, or the task or source that is awaited
  std::uint64_t task = 0;    // the awaited task itself, where `object` is what it waits for
  std::string type{};        // of the object
  std::string detail{};      // "0 of 1 free", "due in 12 s", "queued" …
  std::optional<std::int64_t> free{}, most{};  // of a semaphore: its counts
  std::uint32_t thread = 0;  // OS id of the thread that runs it; 0: none or unknown
};

struct AsyncStep {
  std::uint32_t name = 0;    // in AsyncSnapshot::names: "Shop.Cart.Load"
  std::int32_t state = 0;    // which await of the method, from 0; -1: it runs; other tasks: -1
  std::uint64_t object = 0;  // its task or state machine
};

struct AsyncStack {
  std::uint32_t wait = 0;            // in AsyncSnapshot::waits
  std::vector<AsyncStep> steps{};    // innermost first
  std::uint32_t blocked_thread = 0;  // OS id of the thread that blocks on the outermost; 0: none
  bool old = false;                  // what it awaits has survived collections
  bool unchanged = false;            // since the snapshot before: see mark_unchanged()
};

// Async methods that wait for each other, directly or by semaphores.
struct AsyncCycle {
  struct Link {
    std::string method{};       // that waits
    std::uint64_t object = 0;   // its task
    std::uint64_t awaits = 0;   // a task or a semaphore
    std::string awaits_text{};  // "Shop.Cart.Load", "SemaphoreSlim 0x7f12"
    std::string holds{};        // what it holds that another one of them waits for
    std::uint64_t holds_object = 0;
    std::vector<std::string> frames{};  // its stack, innermost first
  };
  std::vector<Link> links{};   // each waits for the next
  bool by_semaphores = false;  // who holds a semaphore is inferred
};

struct AsyncSnapshot {
  pid_t pid = 0;
  std::string name{};
  std::string runtime{};
  TargetKind target = TargetKind::kTwin;
  std::chrono::system_clock::time_point taken{};
  std::chrono::nanoseconds took{};
  std::chrono::nanoseconds pause{};                // that the process stood still
  std::optional<std::chrono::nanoseconds> over{};  // since the snapshot that it was compared with
  std::uint64_t state_machines = 0;  // of async methods, finished ones not collected yet included
  std::uint64_t pending = 0;         // of them, not finished
  std::uint64_t timers = 0;          // that are due some time
  std::vector<std::string> names{};
  std::vector<AsyncWait> waits{};
  std::vector<AsyncStack> stacks{};
  std::vector<AsyncCycle> cycles{};
  std::uint64_t stacks_cut = 0;  // beyond what is kept
  std::vector<std::string> notes{};

  const std::string& method(const AsyncStep& step) const { return names[step.name]; }
};

// `threads` may be null: then it is unknown which thread runs or waits for what. In a heap that was
// read without references nothing is found.
AsyncSnapshot read_async(Target& target, RuntimeReader& reader, const HeapSnapshot& heap,
                         const Snapshot* threads);

// Marks the stacks that were there in `before` too, at the same awaits. A collection moves objects:
// a stack that has moved counts when it is old, and as often as there were equal ones.
void mark_unchanged(AsyncSnapshot& now, const AsyncSnapshot& before);

// Stacks that wait alike, of the same methods at the same awaits.
struct AsyncGroup {
  AsyncWait wait{};                // object 0: each waits for one of its own
  std::vector<AsyncStep> steps{};  // of one of them
  std::uint64_t count = 0;
  std::uint64_t unchanged = 0;
  std::vector<std::uint32_t> blocked_threads{};  // OS ids, some of them
};
// The largest first.
std::vector<AsyncGroup> groups_of(const AsyncSnapshot& seen);
// "SemaphoreSlim 0x7f12 (0 of 1 free)", "Task.Delay", "running on thread 31"
std::string wait_text(const AsyncWait& wait);

}  // namespace clrscope::inspect
