// A lock that one thread keeps while others wait for it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::Lock;
using inspect::Snapshot;

constexpr Parameter kParameters[] = {
    {"seconds", 2, "time a lock is held while a thread waits; at most half of the time watched"},
};

// The address changes when the collector moves the object.
bool same(const Lock& a, const Lock& b) {
  return a.owner_os_id == b.owner_os_id && a.kind == b.kind && a.type == b.type &&
         a.recursion == b.recursion;
}

const Lock* same_lock(const Snapshot& snapshot, const Lock& lock) {
  const auto at =
      std::ranges::find_if(snapshot.locks, [&](const auto& one) { return same(one, lock); });
  return at == snapshot.locks.end() ? nullptr : &*at;
}

// How long, counted back from the last snapshot, this thread has held this lock while one of these
// waited for it. Where all of them had just been stopped and not come to wait again, nothing is
// known.
std::chrono::nanoseconds held_for(const Evidence& evidence, const Lock& lock,
                                  const std::vector<std::uint32_t>& waiters) {
  auto since = evidence.snapshot_times.back();
  for (auto i = evidence.snapshots.size(); i-- > 0;) {
    const auto& snapshot = evidence.snapshots[i];
    if (std::ranges::all_of(waiters, [&](std::uint32_t id) {
          const auto* thread = find_thread(snapshot, id);
          return thread && thread->running;
        }))
      continue;
    const auto* then = same_lock(snapshot, lock);
    if (!then || std::ranges::none_of(waiters, [&](std::uint32_t id) {
          return std::ranges::find(then->waiters, id) != then->waiters.end();
        }))
      break;
    since = evidence.snapshot_times[i];
  }
  return evidence.snapshot_times.back() - since;
}

Report report_of(const Evidence& evidence, const Lock& lock, std::chrono::nanoseconds held) {
  const auto& snapshot = *evidence.last_snapshot();
  const auto* holder = find_thread(snapshot, lock.owner_os_id);
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
  report.title =
      fmt::format("Lock held for {} or longer: {} for {}", format_duration(held),
                  lock.waiters.size() == 1 ? "a thread waits"
                                           : fmt::format("{} threads wait", lock.waiters.size()),
                  lock.type);
  report.summary = fmt::format("{} holds {} {}", label(snapshot, lock.owner_os_id),
                               words_for(lock.kind), object_text(lock.type, lock.object));
  if (holder && holder->waiting_for)
    report.summary +=
        fmt::format(" while it is waiting itself ({})", words_for(holder->waiting_for->kind));
  else if (holder && holder->running)
    report.summary += " while it is running";
  report.summary += ".";
  if (holder) report.threads.push_back(shown(*holder, "holds " + lock.type));
  constexpr std::size_t kShown = 2;
  for (const auto id : lock.waiters)
    if (const auto* waiter = find_thread(snapshot, id); waiter && report.threads.size() <= kShown)
      report.threads.push_back(shown(*waiter, "wants " + lock.type));
  report.objects = {{lock.object, lock.type, std::string{words_for(lock.kind)}}};
  report.numbers = {{"heldSeconds", std::chrono::duration<double>(held).count(), "s",
                     fmt::format("held for at least {}", format_duration(held))},
                    {"waiters", static_cast<double>(lock.waiters.size()), "",
                     counted(lock.waiters.size(), "waiter")}};
  report.advice = holder
                      ? fmt::format("do the slow part of {} outside the lock", site_text(*holder))
                      : "do the slow part outside the lock";
  report.sufferers = lock.waiters;
  report.culprits = {lock.owner_os_id};
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  if (evidence.snapshots.size() < 2) return {};
  const auto least = std::min(parameters["seconds"], evidence.watched_seconds() / 2);
  // Threads in a deadlock hold their locks forever: CS1001 reports that.
  const auto in_cycle = [&](std::uint32_t id) {
    return std::ranges::any_of(evidence.last_snapshot()->cycles, [&](const auto& cycle) {
      return std::ranges::find(cycle, id) != cycle.end();
    });
  };
  std::vector<Report> reports;
  for (const auto& lock : evidence.last_snapshot()->locks) {
    if (lock.owner_os_id == 0 || lock.waiters.empty() || in_cycle(lock.owner_os_id)) continue;
    // Somebody who waits for it has not moved: it was not given back and taken again in between.
    std::vector<std::uint32_t> waiters;
    std::ranges::copy_if(lock.waiters, std::back_inserter(waiters),
                         [&](std::uint32_t id) { return unmoved(evidence, id); });
    if (waiters.empty()) continue;
    const auto held = held_for(evidence, lock, waiters);
    if (std::chrono::duration<double>(held).count() >= least)
      reports.push_back(report_of(evidence, lock, held));
  }
  return reports;
}

}  // namespace

extern const Finding long_holder_finding{
    .id = "CS1002",
    .title = "long lock holder",
    .description = "A thread that holds a lock for a long time while others wait for it.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{1}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
