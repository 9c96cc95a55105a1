// Threads that wait for each other: a deadlock.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::Snapshot;
using Cycle = std::vector<std::uint32_t>;

// The same threads, wherever the cycle was entered.
bool same(const Cycle& a, const Cycle& b) {
  return a.size() == b.size() && std::ranges::is_permutation(a, b);
}

bool in_every_snapshot(const Evidence& evidence, const Cycle& cycle) {
  return std::ranges::all_of(evidence.snapshots, [&](const Snapshot& snapshot) {
    return std::ranges::any_of(snapshot.cycles,
                               [&](const auto& other) { return same(cycle, other); });
  });
}

// Whose wait ends at some thread of the cycle, by one step or several.
Cycle queue_behind(const Snapshot& snapshot, const Cycle& cycle) {
  Cycle stuck = cycle;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& thread : snapshot.threads) {
      if (!thread.waiting_for || std::ranges::find(stuck, thread.os_id()) != stuck.end()) continue;
      if (std::ranges::find(stuck, thread.waiting_for->owner_os_id) == stuck.end()) continue;
      stuck.push_back(thread.os_id());
      grew = true;
    }
  }
  return {stuck.begin() + static_cast<std::ptrdiff_t>(cycle.size()), stuck.end()};
}

const inspect::Lock* lock_of(const Snapshot& snapshot, std::uint64_t object) {
  const auto at = std::ranges::find(snapshot.locks, object, &inspect::Lock::object);
  return at == snapshot.locks.end() ? nullptr : &*at;
}

bool waits_for_initializer(const inspect::ThreadView& thread) {
  return thread.waiting_for && thread.waiting_for->kind == inspect::WaitKind::kTypeInitializer;
}

// The type whose static constructor is part of the cycle; empty: none is.
std::string initialized_in(const Snapshot& snapshot, const Cycle& cycle) {
  for (const auto id : cycle)
    if (const auto* thread = find_thread(snapshot, id); thread && waits_for_initializer(*thread))
      return thread->waiting_for->type;
  return {};
}

// Of what a thread holds, what the one before it in the cycle wants.
ShownThread shown_in_cycle(const Snapshot& snapshot, const inspect::ThreadView& thread,
                           const inspect::ThreadView* before) {
  std::string does;
  if (before && waits_for_initializer(*before)) {
    does = fmt::format("runs the static constructor of {}", before->waiting_for->type);
  } else if (before && before->waiting_for && before->waiting_for->object != 0) {
    const auto object = before->waiting_for->object;
    const auto* lock = lock_of(snapshot, object);
    const auto& wait = *before->waiting_for;
    const bool is_task = wait.kind == inspect::WaitKind::kTask;
    does = fmt::format("{} {} {}", is_task ? "runs" : "holds", words_for(wait.kind),
                       object_text(lock ? lock->type : wait.type, object));
  }
  if (waits_for_initializer(thread)) {
    does += fmt::format("{}wants the static constructor of {} to end", does.empty() ? "" : ", ",
                        thread.waiting_for->type);
  } else if (thread.waiting_for) {
    const auto& wait = *thread.waiting_for;
    does += fmt::format("{}wants {} {}", does.empty() ? "" : ", ", words_for(wait.kind),
                        object_text(wait.type, wait.object));
    if (!wait.detail.empty()) does += fmt::format(" {}", wait.detail);
  }
  return shown(thread, std::move(does));
}

std::string advice(const Snapshot& snapshot, const Cycle& cycle,
                   const std::vector<std::string>& wanted) {
  const auto blocks_on_task = std::ranges::find_if(cycle, [&](std::uint32_t id) {
    const auto* thread = find_thread(snapshot, id);
    return thread && thread->waiting_for && thread->waiting_for->kind == inspect::WaitKind::kTask;
  });
  if (blocks_on_task != cycle.end())
    return fmt::format(
        "await the task in {} instead of blocking on it, at least while holding a lock that the "
        "task needs; restart the process to recover",
        site_text(*find_thread(snapshot, *blocks_on_task)));
  if (const auto type = initialized_in(snapshot, cycle); !type.empty())
    return fmt::format(
        "take no lock and wait for nothing in the static constructor of {}: initialize on first "
        "use instead (Lazy<T>), or use the type once before the lock is taken; restart the process "
        "to recover",
        type);
  if (wanted.size() > 1)
    return fmt::format(
        "acquire these locks in the same order everywhere ({}), or use a single lock; restart the "
        "process to recover",
        fmt::join(wanted, ", then "));
  return "acquire the locks in the same order everywhere, or use a single lock; restart the "
         "process to recover";
}

Report report_of(const Evidence& evidence, const Cycle& cycle) {
  const auto& snapshot = *evidence.last_snapshot();
  const bool ends = std::ranges::any_of(cycle, [&](std::uint32_t id) {
    const auto* thread = find_thread(snapshot, id);
    return thread && thread->waiting_for && thread->waiting_for->timed;
  });
  Report report{.severity = ends ? Severity::kWarning : Severity::kError,
                .confidence = ends ? Confidence::kLikely : Confidence::kCertain};
  report.title = cycle.size() == 1
                     ? "Deadlock: a thread is waiting for itself"
                     : fmt::format("Deadlock: {} threads are waiting for each other{}",
                                   cycle.size(), ends ? " until a timeout expires" : "");
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto* thread = find_thread(snapshot, cycle[i]);
    if (!thread) continue;
    const auto* before = find_thread(snapshot, cycle[(i + cycle.size() - 1) % cycle.size()]);
    report.threads.push_back(shown_in_cycle(snapshot, *thread, before));
    if (!thread->waiting_for) continue;
    const auto& wait = *thread->waiting_for;
    report.objects.push_back({wait.object, wait.type, std::string{words_for(wait.kind)}});
    if (std::ranges::find(wanted, wait.type) == wanted.end()) wanted.push_back(wait.type);
  }
  const auto behind = queue_behind(snapshot, cycle);
  if (!behind.empty())
    report.details.push_back(
        fmt::format("{} behind them.", behind.size() == 1
                                           ? "1 more thread waits"
                                           : fmt::format("{} more threads wait", behind.size())));
  const auto* what =
      cycle.size() == 1 ? "It waits for something that only this thread can do"
      : initialized_in(snapshot, cycle).empty()
          ? "Each thread holds the lock the next one needs"
          : "Each thread holds the lock, or runs the static constructor, that the next one needs";
  report.summary = evidence.snapshots.size() > 1 ? fmt::format("{}. Confirmed in all {} snapshots.",
                                                               what, evidence.snapshots.size())
                                                 : fmt::format("{}.", what);
  report.numbers = {{"threads", static_cast<double>(cycle.size()), "",
                     counted(cycle.size(), "thread") + " in the cycle"},
                    {"queued", static_cast<double>(behind.size()), "",
                     counted(behind.size(), "thread") + " behind"}};
  report.advice = advice(snapshot, cycle, wanted);
  report.sufferers = cycle;
  report.sufferers.insert(report.sufferers.end(), behind.begin(), behind.end());
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  std::vector<Report> reports;
  for (const auto& cycle : evidence.last_snapshot()->cycles)
    if (in_every_snapshot(evidence, cycle)) reports.push_back(report_of(evidence, cycle));
  return reports;
}

}  // namespace

extern const Finding lock_cycle_finding{
    .id = "CS1001",
    .title = "lock cycle",
    .description =
        "Threads that wait in a cycle for each other's locks (Monitor, Lock, "
        "ReaderWriterLockSlim), "
        "tasks or static constructors.",
    .needs = {.snapshots = true},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
