// Threads that wait for each other for ever.
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

bool in_every_look(const Evidence& evidence, const Cycle& cycle) {
  return std::ranges::all_of(evidence.looks, [&](const Snapshot& look) {
    return std::ranges::any_of(look.cycles, [&](const auto& other) { return same(cycle, other); });
  });
}

// Whose wait ends at some thread of the cycle, by one step or several.
Cycle queue_behind(const Snapshot& look, const Cycle& cycle) {
  Cycle stuck = cycle;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& thread : look.threads) {
      if (!thread.waiting_for || std::ranges::find(stuck, thread.os_id()) != stuck.end()) continue;
      if (std::ranges::find(stuck, thread.waiting_for->owner_os_id) == stuck.end()) continue;
      stuck.push_back(thread.os_id());
      grew = true;
    }
  }
  return {stuck.begin() + static_cast<std::ptrdiff_t>(cycle.size()), stuck.end()};
}

const inspect::Lock* lock_of(const Snapshot& look, std::uint64_t object) {
  const auto at = std::ranges::find(look.locks, object, &inspect::Lock::object);
  return at == look.locks.end() ? nullptr : &*at;
}

// Of what a thread holds, what the one before it in the cycle wants.
ShownThread shown_in_cycle(const Snapshot& look, const inspect::ThreadView& thread,
                           const inspect::ThreadView* before) {
  std::string does;
  if (before && before->waiting_for && before->waiting_for->object != 0) {
    const auto object = before->waiting_for->object;
    const auto* lock = lock_of(look, object);
    const auto& wait = *before->waiting_for;
    const bool is_task = wait.kind == inspect::WaitKind::kTask;
    does = fmt::format("{} {} {}", is_task ? "runs" : "holds", words_for(wait.kind),
                       object_text(lock ? lock->type : wait.type, object));
  }
  if (thread.waiting_for) {
    const auto& wait = *thread.waiting_for;
    does += fmt::format("{}wants {} {}", does.empty() ? "" : ", ", words_for(wait.kind),
                        object_text(wait.type, wait.object));
    if (!wait.detail.empty()) does += fmt::format(" {}", wait.detail);
  }
  return shown(thread, std::move(does));
}

std::string advice(const Snapshot& look, const Cycle& cycle,
                   const std::vector<std::string>& wanted) {
  const auto blocks_on_task = std::ranges::find_if(cycle, [&](std::uint32_t id) {
    const auto* thread = find_thread(look, id);
    return thread && thread->waiting_for && thread->waiting_for->kind == inspect::WaitKind::kTask;
  });
  if (blocks_on_task != cycle.end())
    return fmt::format(
        "await the task in {} instead of blocking on it, at least while it holds what the task "
        "needs; the process must be restarted to go on",
        site_text(*find_thread(look, *blocks_on_task)));
  if (wanted.size() > 1)
    return fmt::format(
        "take these locks in one order everywhere ({}), or one lock for all; the process must be "
        "restarted to go on",
        fmt::join(wanted, ", then "));
  return "take the locks in one order everywhere, or one lock for all; the process must be "
         "restarted to go on";
}

Report report_of(const Evidence& evidence, const Cycle& cycle) {
  const auto& look = *evidence.last_look();
  const bool ends = std::ranges::any_of(cycle, [&](std::uint32_t id) {
    const auto* thread = find_thread(look, id);
    return thread && thread->waiting_for && thread->waiting_for->timed;
  });
  Report report{.severity = ends ? Severity::kWarning : Severity::kError,
                .confidence = ends ? Confidence::kLikely : Confidence::kCertain};
  report.title = cycle.size() == 1
                     ? "Deadlock: a thread waits for itself for ever"
                     : fmt::format("Deadlock: {} threads wait for each other{}", cycle.size(),
                                   ends ? " until one gives up" : " for ever");
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto* thread = find_thread(look, cycle[i]);
    if (!thread) continue;
    const auto* before = find_thread(look, cycle[(i + cycle.size() - 1) % cycle.size()]);
    report.threads.push_back(shown_in_cycle(look, *thread, before));
    if (!thread->waiting_for) continue;
    const auto& wait = *thread->waiting_for;
    report.objects.push_back({wait.object, wait.type, std::string{words_for(wait.kind)}});
    if (std::ranges::find(wanted, wait.type) == wanted.end()) wanted.push_back(wait.type);
  }
  const auto behind = queue_behind(look, cycle);
  if (!behind.empty())
    report.details.push_back(
        fmt::format("{} behind them.", behind.size() == 1
                                           ? "1 more thread queues"
                                           : fmt::format("{} more threads queue", behind.size())));
  const auto* what =
      cycle.size() == 1 ? "It waits for what only it can do" : "Each holds what the next wants";
  report.summary = evidence.looks.size() > 1
                       ? fmt::format("{}; so it was in all {} looks.", what, evidence.looks.size())
                       : fmt::format("{}.", what);
  report.numbers = {{"threads", static_cast<double>(cycle.size()), "",
                     counted(cycle.size(), "thread") + " in the cycle"},
                    {"queued", static_cast<double>(behind.size()), "",
                     counted(behind.size(), "thread") + " behind"}};
  report.advice = advice(look, cycle, wanted);
  report.sufferers = cycle;
  report.sufferers.insert(report.sufferers.end(), behind.begin(), behind.end());
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  std::vector<Report> reports;
  for (const auto& cycle : evidence.last_look()->cycles)
    if (in_every_look(evidence, cycle)) reports.push_back(report_of(evidence, cycle));
  return reports;
}

}  // namespace

extern const Finding lock_cycle_finding{
    .id = "CS1001",
    .title = "lock cycle",
    .description =
        "Threads that wait for each other's locks (Monitor, Lock, ReaderWriterLockSlim) "
        "or tasks in a circle.",
    .needs = {.looks = true},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds a look",
    .rights = "to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
