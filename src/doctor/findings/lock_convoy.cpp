// Threads that queue for a lock all the time: it moves, but only one of them works.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/agent_evidence.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"waiters", 0.5, "average number of threads that wait for one lock"},
};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

Report report_of(const Evidence& evidence, std::string_view method, double waiters) {
  Report report{.severity = Severity::kWarning};
  constexpr double kNearlyTwo = 1.5;  // below that it is one thread, or another in its place
  report.title =
      waiters < kNearlyTwo
          ? fmt::format("Lock contention: a thread waits for a lock in {} {:.0f} % of the time",
                        method, std::min(100.0, 100 * waiters))
          : fmt::format("Lock convoy: on average {:.1f} threads wait for a lock in {}", waiters,
                        method);
  report.numbers = {{"waiters", waiters, "", fmt::format("{:.1f} waiting on average", waiters)}};
  report.advice = fmt::format(
      "hold the lock in {} for a shorter time, split it, or use a lock-free structure "
      "(ConcurrentDictionary, Interlocked, per-thread copies)",
      method);
  constexpr std::size_t kShown = 3;
  if (const auto* snapshot = evidence.last_snapshot())
    for (const auto& thread : snapshot->threads) {
      const auto* site = thread.waiting_for ? site_of(thread) : nullptr;
      if (!site || site->method != method || report.threads.size() == kShown) continue;
      report.threads.push_back(shown(
          thread, fmt::format("wants {} {}", words_for(thread.waiting_for->kind),
                              object_text(thread.waiting_for->type, thread.waiting_for->object))));
    }
  return report;
}

std::vector<Report> by_events(const EventFacts& events, const Evidence& evidence, double least) {
  std::vector<Report> reports;
  const auto recorded = events.locks_recorded.value_or(events.length);
  for (const auto& place : events.locks) {
    // What never ended is no convoy, but something worse: a cycle or a long holder.
    const auto finished = place.waits - std::min(place.waits, place.unfinished);
    const auto waiters = seconds(place.waited) / std::max(seconds(recorded), 0.001);
    constexpr std::uint64_t kLeast = 2;  // few, where each is long
    if (finished < kLeast || waiters < least) continue;
    auto report = report_of(evidence, place.method, waiters);
    report.summary =
        fmt::format("{} for it in {}: {} each on average, {} the longest.",
                    counted(place.waits, "wait"), format_duration(recorded),
                    format_duration(place.waited / static_cast<std::int64_t>(place.waits)),
                    format_duration(place.longest));
    report.numbers.push_back(
        {"waits", static_cast<double>(place.waits), "", counted(place.waits, "wait")});
    report.numbers.push_back({"waitedMs", 1000 * seconds(place.waited), "ms",
                              format_duration(place.waited) + " waited in total"});
    add_lock_owner(report, evidence, place.method);
    reports.push_back(std::move(report));
  }
  return reports;
}

// Without events: the same type of lock with waiters in nearly every snapshot, and owners that
// change.
std::vector<Report> by_snapshots(const Evidence& evidence, double least) {
  struct Seen {
    std::size_t snapshots = 0, waiters = 0;
    std::vector<std::uint32_t> owners{};
    std::string method{};
  };
  std::map<std::string, Seen> locks;
  for (const auto& snapshot : evidence.snapshots)
    for (const auto& lock : snapshot.locks) {
      if (lock.waiters.empty()) continue;
      auto& seen = locks[lock.type];
      ++seen.snapshots;
      seen.waiters += lock.waiters.size();
      if (std::ranges::find(seen.owners, lock.owner_os_id) == seen.owners.end())
        seen.owners.push_back(lock.owner_os_id);
      if (const auto* waiter = find_thread(snapshot, lock.waiters.front()))
        if (const auto* site = site_of(*waiter)) seen.method = site->method;
    }
  std::vector<Report> reports;
  for (const auto& [type, seen] : locks) {
    const auto all = evidence.snapshots.size();
    const auto waiters = static_cast<double>(seen.waiters) / static_cast<double>(all);
    if (all < 5 || seen.snapshots * 10 < all * 8 || seen.owners.size() < 2 || waiters < least)
      continue;
    auto report = report_of(evidence, seen.method, waiters);
    report.confidence = Confidence::kLikely;
    report.summary =
        fmt::format("{} had waiting threads in {} of {} snapshots, with {} different holders.",
                    type, seen.snapshots, all, seen.owners.size());
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto least = parameters["waiters"];
  return evidence.events ? by_events(*evidence.events, evidence, least)
                         : by_snapshots(evidence, least);
}

}  // namespace

extern const Finding lock_convoy_finding{
    .id = "CS1003",
    .title = "lock convoy",
    .description = "Threads that wait for the same lock nearly all the time.",
    .needs = {.events_or_snapshots = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "two events for each wait for a lock",
    .rights = "the diagnostic port, or permission to read the process's memory",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
