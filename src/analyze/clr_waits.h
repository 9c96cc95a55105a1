// What the runtime's own events say of a thread that has just waited: for a lock, for a handle, or
// because the runtime had stopped all threads for a collection.
//
// The kernel's events and a runtime's reach the trace by different ways, so that neither order nor
// place tells which belong together: times do. Ask once all that lies near has been read. Keeps the
// waits of the last seconds. One belongs to one trace and one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "analyze/sites.h"
#include "analyze/stacks.h"

namespace clrscope::analyze {

enum class ClrWait : std::uint8_t { kNone, kLock, kHandle, kGcSuspension };
constexpr std::size_t kClrWaits = 4;

class ClrWaits {
 public:
  // Events of one source come so much later than those of another, at most.
  static constexpr std::uint64_t kDisorder = 3'000'000'000;  // ns

  // True when it was one of those. `stacks` keeps where a wait begins.
  bool on_event(const nettrace::Reader& reader, const Event& event, Stacks& stacks);

  // This process reports no more waits for locks.
  void forget_locks(ProcessId process, TraceTime when);

  struct Told {
    ClrWait what = ClrWait::kNone;
    StackId stack = StackId::kNone;  // where it began, when the event has a stack
  };
  // Of a thread that did not run from `since` to `until`.
  Told at(ProcessId process, ThreadId thread, TraceTime since, TraceTime until) const;

 private:
  struct Wait {
    TraceTime begin;
    TraceTime end;  // max() while it lasts
    Told told;
  };
  using Waits = std::deque<Wait>;  // by begin
  struct Key {
    ProcessId process;
    ThreadId thread;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(
          (static_cast<std::uint64_t>(key.thread) ^ static_cast<std::uint64_t>(key.process) << 32) *
          0x9e3779b97f4a7c15ULL);
    }
  };

  static void begin(Waits& waits, const Wait& wait);
  static void end(Waits& waits, ClrWait what, TraceTime when);

  KnownEvents known_;
  std::unordered_map<Key, Waits, KeyHash> by_thread_;
  std::unordered_map<ProcessId, Waits> suspensions_;
};

}  // namespace clrscope::analyze
