// Work queues for the thread pool while all its workers are blocked.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::Snapshot;
using inspect::ThreadView;
using inspect::WaitKind;

constexpr Parameter kParameters[] = {
    {"blockedPercent", 80, "share of workers blocked in every snapshot"},
    {"workers", 2, "minimum number of workers of a pool"},
};

// In something other than the pool's own wait for work or for input.
bool is_blocked(const ThreadView& thread) {
  return thread.waiting_for && thread.waiting_for->kind != WaitKind::kPoolIdle &&
         thread.waiting_for->kind != WaitKind::kIo;
}

struct Workers {
  std::size_t all = 0;
  std::vector<const ThreadView*> blocked{};

  explicit Workers(const Snapshot& snapshot) {
    for (const auto& thread : snapshot.threads)
      if (is_worker(thread)) {
        ++all;
        if (is_blocked(thread)) blocked.push_back(&thread);
      }
  }
  double percent() const {
    return all == 0 ? 0 : 100 * static_cast<double>(blocked.size()) / static_cast<double>(all);
  }
};

bool work_queues(const Evidence& evidence) {
  const auto& pool = evidence.last_snapshot()->pool;
  if (pool && pool->queued) return *pool->queued > 0;
  if (evidence.events)
    return evidence.events->pool.starvations + evidence.events->pool.blockings > 0;
  return pool && pool->blocked.value_or(0) > 0;
}

void add_numbers(Report& report, const Evidence& evidence) {
  if (const auto* snapshot = evidence.last_snapshot(); snapshot && snapshot->pool) {
    const auto add = [&](std::string name, std::optional<std::uint32_t> value,
                         std::string_view words) {
      if (value)
        report.numbers.push_back({std::move(name), static_cast<double>(*value), "",
                                  fmt::format("{} {}", *value, words)});
    };
    add("queued", snapshot->pool->queued, "work items queued");
    add("minWorkers", snapshot->pool->min_workers, "minimum number of workers");
    add("maxWorkers", snapshot->pool->max_workers, "maximum number of workers");
    add("addedForBlocking", snapshot->pool->added_for_blocking,
        "workers added because others are blocked");
  }
  if (evidence.events) {
    const auto& pool = evidence.events->pool;
    if (pool.starvations + pool.blockings > 0)
      report.numbers.push_back({"workersAdded",
                                static_cast<double>(pool.starvations + pool.blockings), "",
                                fmt::format("{} added while watched because none was free",
                                            counted(pool.starvations + pool.blockings, "worker"))});
  }
}

std::vector<Report> by_snapshots(const Evidence& evidence, const Parameters& parameters) {
  for (const auto& snapshot : evidence.snapshots) {
    const Workers workers{snapshot};
    if (static_cast<double>(workers.all) < parameters["workers"] ||
        workers.percent() < parameters["blockedPercent"])
      return {};
  }
  if (!work_queues(evidence)) return {};
  const Workers workers{*evidence.last_snapshot()};
  std::map<std::pair<std::string, WaitKind>, std::vector<const ThreadView*>> calls;
  for (const auto* thread : workers.blocked)
    calls[{site_text(*thread), thread->waiting_for->kind}].push_back(thread);
  const auto worst =
      std::ranges::max_element(calls, {}, [](const auto& one) { return one.second.size(); });
  const auto& [where, kind] = worst->first;

  Report report{.severity = Severity::kError, .confidence = Confidence::kCertain};
  report.title = fmt::format(
      "Thread pool is starving: {} of {} workers wait for {}",
      std::ranges::count(workers.blocked, kind,
                         [](const auto* thread) { return thread->waiting_for->kind; }),
      workers.all,
      kind == WaitKind::kTask ? "a task (sync over async)" : fmt::format("a {}", words_for(kind)));
  report.summary =
      fmt::format("{} in {}; queued work waits for a free worker.",
                  calls.size() == 1 ? "They block" : "Most of them are blocked", where);
  constexpr std::size_t kShown = 3;
  std::vector<const decltype(calls)::value_type*> ranked;
  for (const auto& one : calls) ranked.push_back(&one);
  std::ranges::stable_sort(ranked, std::greater{},
                           [](const auto* one) { return one->second.size(); });
  for (const auto* one : ranked)
    if (report.threads.size() < kShown)
      report.threads.push_back(
          shown(*one->second.front(), fmt::format("one of {} waiting for {}", one->second.size(),
                                                  words_for(one->first.second))));
  report.numbers = {
      {"workers", static_cast<double>(workers.all), "", counted(workers.all, "worker")},
      {"blocked", static_cast<double>(workers.blocked.size()), "",
       fmt::format("{} blocked", workers.blocked.size())}};
  add_numbers(report, evidence);
  report.advice =
      kind == WaitKind::kTask
          ? fmt::format(
                "use await in {} instead of blocking; raising ThreadPool.SetMinThreads only delays "
                "the problem",
                where)
          : fmt::format("move the blocking call in {} to a dedicated thread, or make it async",
                        where);
  for (const auto* thread : workers.blocked) {
    report.sufferers.push_back(thread->os_id());
    if (const auto owner = thread->waiting_for->owner_os_id; owner != 0)
      report.culprits.push_back(owner);
  }
  return {report};
}

// Without snapshots the runtime's own verdict remains: it adds workers because work does not move.
std::vector<Report> by_events(const Evidence& evidence) {
  const auto& pool = evidence.events->pool;
  const auto added = pool.starvations + pool.blockings;
  const auto least = std::max(2.0, evidence.events->seconds() / 5);
  if (static_cast<double>(added) < least || pool.last_workers < pool.first_workers) return {};
  Report report{.severity = Severity::kError, .confidence = Confidence::kLikely};
  report.title = fmt::format("Thread pool is starving: {} added because none was free",
                             counted(added, "worker"));
  report.summary = fmt::format(
      "The runtime added workers {} times because queued work made no progress, and {} times "
      "because workers were blocked on tasks.",
      pool.starvations, pool.blockings);
  add_numbers(report, evidence);
  report.advice =
      "find the blocking call: run clrscope stacks as a user that may read the process's memory";
  report.next = {remedy(evidence, "stacks")};
  return {report};
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  return evidence.snapshots.empty() ? by_events(evidence) : by_snapshots(evidence, parameters);
}

}  // namespace

extern const Finding pool_starvation_finding{
    .id = "CS1204",
    .title = "thread pool starvation",
    .description = "All workers of the pool are blocked while work is queued.",
    .needs = {.events_or_snapshots = true},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights =
        "permission to read the process's memory, or (without the blocking call) the diagnostic "
        "port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
