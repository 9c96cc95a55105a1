#include "analyze/clr_waits.h"

#include <algorithm>

#include "analyze/durations.h"

namespace clrscope::analyze {

using nettrace::Known;

namespace {

constexpr std::uint32_t kForGc = 1;
constexpr std::uint32_t kForGcPreparation = 6;
constexpr std::uint64_t kRestart = 20'000'000;  // ns, until a thread has a processor again

}  // namespace

void ClrWaits::begin(Waits& waits, const Wait& wait) {
  while (!waits.empty() && waits.front().end < earlier(wait.begin, 2 * kDisorder))
    waits.pop_front();
  // One whose end was lost is over when the next begins.
  if (!waits.empty() && waits.back().told.what == wait.told.what)
    waits.back().end = std::min(waits.back().end, wait.begin);
  waits.push_back(wait);
}

void ClrWaits::end(Waits& waits, ClrWait what, TraceTime when) {
  const auto open = std::find_if(waits.rbegin(), waits.rend(), [what](const Wait& wait) {
    return wait.told.what == what && wait.end == TraceTime::max();
  });
  if (open != waits.rend()) open->end = when;
}

bool ClrWaits::on_event(const nettrace::Reader& reader, const Event& event, Stacks& stacks) {
  const auto known = known_.of(*event.type);
  const Key key{event.process, event.thread};
  const auto begins = [&](ClrWait what) {
    begin(by_thread_[key], {event.time, TraceTime::max(), {what, stacks.intern(reader, event)}});
    return true;
  };
  switch (known) {
    case Known::kContentionStart:
      return begins(ClrWait::kLock);
    case Known::kWaitStart:
      return begins(ClrWait::kHandle);
    case Known::kContentionStop:
      end(by_thread_[key], ClrWait::kLock, event.time);
      return true;
    case Known::kWaitStop:
      end(by_thread_[key], ClrWait::kHandle, event.time);
      return true;
    case Known::kGcSuspendBegin: {
      const auto why = nettrace::read_as<nettrace::GcSuspend>(event, reader.info()->pointer_size);
      if (why && (why->reason == kForGc || why->reason == kForGcPreparation))
        begin(suspensions_[event.process],
              {event.time, TraceTime::max(), {ClrWait::kGcSuspension, StackId::kNone}});
      return true;
    }
    case Known::kGcRestartEnd:
      end(suspensions_[event.process], ClrWait::kGcSuspension, event.time);
      return true;
    default:
      return false;
  }
}

void ClrWaits::forget_locks(ProcessId process, TraceTime when) {
  for (auto& [key, waits] : by_thread_)
    if (key.process == process) end(waits, ClrWait::kLock, when);
}

ClrWaits::Told ClrWaits::at(ProcessId process, ThreadId thread, TraceTime since,
                            TraceTime until) const {
  Told told;
  if (const auto mine = by_thread_.find({process, thread}); mine != by_thread_.end())
    for (const auto& wait : mine->second)
      // A lock is waited for by a handle, which says less.
      if (wait.begin <= since && until <= wait.end && told.what != ClrWait::kLock) told = wait.told;
  if (told.what != ClrWait::kNone) return told;
  const auto all = suspensions_.find(process);
  if (all == suspensions_.end()) return told;
  const bool stopped = std::ranges::any_of(all->second, [&](const Wait& one) {
    // It runs on a little later; what lasts longer only happened to begin then.
    return one.begin <= since && since <= one.end && earlier(until, kRestart) <= one.end;
  });
  return {.what = stopped ? ClrWait::kGcSuspension : ClrWait::kNone};
}

}  // namespace clrscope::analyze
