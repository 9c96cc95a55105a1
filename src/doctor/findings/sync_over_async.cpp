// Threads that block on tasks: Task.Result, Task.Wait, GetAwaiter().GetResult().
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::ThreadView;
using inspect::WaitKind;

constexpr Parameter kParameters[] = {
    {"poolThreads", 1, "average number of pool threads blocked on tasks"},
};

bool waits_for_task(const ThreadView& thread) {
  return thread.waiting_for && thread.waiting_for->kind == WaitKind::kTask;
}

double pool_average(const Evidence& evidence) {
  std::size_t count = 0;
  for (const auto& snapshot : evidence.snapshots)
    for (const auto& thread : snapshot.threads)
      if (waits_for_task(thread) && is_worker(thread)) ++count;
  return static_cast<double>(count) / static_cast<double>(evidence.snapshots.size());
}

Report report_of(const std::vector<const ThreadView*>& threads) {
  std::map<std::string, std::vector<const ThreadView*>> by_site;
  for (const auto* thread : threads) by_site[site_text(*thread)].push_back(thread);
  std::vector<std::pair<std::string, std::vector<const ThreadView*>>> sites{by_site.begin(),
                                                                            by_site.end()};
  std::ranges::stable_sort(sites, std::greater{},
                           [](const auto& one) { return one.second.size(); });
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
  report.title = fmt::format(
      "Sync over async: {} on a task in {}",
      threads.size() == 1 ? "a thread blocks" : fmt::format("{} threads block", threads.size()),
      sites.front().first);
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, sites.size()); ++i) {
    const auto& [site, group] = sites[i];
    auto does = group.size() > 1 ? fmt::format("and {} more waiting for a task", group.size() - 1)
                                 : std::string{"waits for a task"};
    if (!group.front()->waiting_for->detail.empty())
      does += ": " + group.front()->waiting_for->detail;
    report.threads.push_back(shown(*group.front(), std::move(does)));
    report.objects.push_back(
        {group.front()->waiting_for->object, group.front()->waiting_for->type, "task"});
  }
  report.numbers = {{"blockedThreads", static_cast<double>(threads.size()), "",
                     counted(threads.size(), "thread") + " blocked on tasks"}};
  report.advice = fmt::format(
      "use await in {} and in its callers; where that is impossible, run the work on a dedicated "
      "thread",
      sites.front().first);
  for (const auto* thread : threads) {
    report.sufferers.push_back(thread->os_id());
    if (const auto owner = thread->waiting_for->owner_os_id; owner != 0)
      report.culprits.push_back(owner);
  }
  if (report.culprits.size() < threads.size()) report.culprits.clear();  // not all are known
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& snapshot = *evidence.last_snapshot();
  std::vector<const ThreadView*> pool, stuck;
  for (const auto& thread : snapshot.threads) {
    if (!waits_for_task(thread)) continue;
    if (is_worker(thread))
      pool.push_back(&thread);
    else if (!is_main(snapshot, thread) && !thread.waiting_for->timed &&
             unmoved(evidence, thread.os_id()))
      stuck.push_back(&thread);
  }
  std::vector<Report> reports;
  if (!pool.empty() && pool_average(evidence) >= parameters["poolThreads"]) {
    auto report = report_of(pool);
    report.summary =
        "Thread pool workers are blocked waiting for work that itself needs the pool; under load "
        "the pool starves.";
    reports.push_back(std::move(report));
  }
  if (!stuck.empty()) {
    auto report = report_of(stuck);
    report.confidence = Confidence::kLikely;
    report.summary =
        fmt::format("No progress in {}: the task may need the thread that waits for it.",
                    format_duration(evidence.watched));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding sync_over_async_finding{
    .id = "CS1203",
    .title = "sync over async",
    .description = "Threads that block until a task completes, instead of awaiting it.",
    .needs = {.snapshots = true},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
