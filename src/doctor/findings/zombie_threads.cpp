// Threads that are of no use any more: ended but kept, waiting for what nobody will signal, more
// and more of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::Snapshot;
using inspect::ThreadView;

constexpr Parameter kParameters[] = {
    {"dead", 50, "number of ended threads that are still referenced"},
    {"idle", 50, "number of threads in the same wait without an owner or a timeout"},
    {"grown", 3, "number of additional threads in the same wait since the first snapshot"},
};

std::size_t dead_in(const Snapshot& snapshot) {
  return static_cast<std::size_t>(
      std::ranges::count_if(snapshot.without_os_thread, &inspect::RuntimeThread::dead));
}

// By method: only the last snapshot has lines.
using ByMethod = std::map<std::string, std::vector<const ThreadView*>>;
ByMethod idle_in(const Snapshot& snapshot) {
  ByMethod methods;
  for (const auto& thread : snapshot.threads)
    if (waits_for_nobody(thread)) {
      const auto* site = site_of(thread);
      methods[site ? site->method : "?"].push_back(&thread);
    }
  return methods;
}

// In both snapshots.
std::size_t dead_since(const Snapshot& first, const Snapshot& last) {
  std::set<std::uint64_t> known;
  for (const auto& thread : first.without_os_thread)
    if (thread.dead) known.insert(thread.address);
  return static_cast<std::size_t>(std::ranges::count_if(
      last.without_os_thread,
      [&](const auto& thread) { return thread.dead && known.contains(thread.address); }));
}

// An ended thread is freed by the full collection after its end, unless something refers to it.
std::optional<Report> dead_kept(const Evidence& evidence, double least) {
  const auto& snapshot = *evidence.last_snapshot();
  auto dead = dead_in(snapshot);
  if (static_cast<double>(dead) < least) return {};
  // The collector has been there in between and they stayed, or more came.
  if (dead < dead_in(evidence.snapshots.front())) return {};
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
  if (evidence.events) {
    const auto full = std::ranges::count_if(evidence.events->collections,
                                            [](const auto& gc) { return gc.generation == 2; });
    dead = dead_since(evidence.snapshots.front(), snapshot);
    if (full == 0 || static_cast<double>(dead) < least) return {};
  } else {
    report.severity = Severity::kInfo;  // perhaps no collection has come since they ended
    report.confidence = Confidence::kPossible;
  }
  report.title = fmt::format("Zombie threads: {} have ended but are still referenced", dead);
  report.summary =
      "Something references their Thread objects, so the runtime cannot free their resources.";
  report.numbers = {{"dead", static_cast<double>(dead), "", fmt::format("{} ended threads", dead)}};
  report.advice =
      "do not keep references to Thread objects after they have ended; use tasks or the pool for "
      "short work";
  return report;
}

bool stayed(const Evidence& evidence, const std::vector<const ThreadView*>& group) {
  const auto still = std::ranges::count_if(
      group, [&](const auto* thread) { return unmoved(evidence, thread->os_id()); });
  return static_cast<std::size_t>(still) * 10 >= group.size() * 9;
}

// Threads that were not there at all in the first snapshot. No snapshot has fewer in that wait than
// the one before, or else they come and go.
std::size_t grown(const Evidence& evidence, const std::string& method) {
  std::vector<std::size_t> counts;
  std::size_t came = 0;
  for (const auto& snapshot : evidence.snapshots) {
    const auto methods = idle_in(snapshot);
    const auto at = methods.find(method);
    counts.push_back(at == methods.end() ? 0 : at->second.size());
    came =
        at == methods.end()
            ? 0
            : static_cast<std::size_t>(std::ranges::count_if(at->second, [&](const auto* thread) {
                return !find_thread(evidence.snapshots.front(), thread->os_id());
              }));
  }
  return counts.size() < 3 || falls(counts) ? 0 : came;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  std::vector<Report> reports;
  if (auto dead = dead_kept(evidence, parameters["dead"])) reports.push_back(std::move(*dead));
  for (const auto& [method, group] : idle_in(*evidence.last_snapshot())) {
    const auto site = site_text(*group.front());
    const auto more = evidence.live ? grown(evidence, method) : 0;
    const bool grows = static_cast<double>(more) >= parameters["grown"];
    const bool many = static_cast<double>(group.size()) >= parameters["idle"] &&
                      (!evidence.live || stayed(evidence, group));
    if (!grows && !many) continue;
    Report report{.severity = grows ? Severity::kWarning : Severity::kInfo,
                  .confidence = grows ? Confidence::kLikely : Confidence::kPossible};
    report.title =
        grows ? fmt::format("Zombie threads: more and more wait in {}, {} now", site, group.size())
              : fmt::format("Zombie threads: {} wait in {} for something without an owner",
                            group.size(), site);
    report.summary =
        grows ? fmt::format("{} were added in {}, and none of them made progress.", more,
                            format_duration(evidence.watched))
              : fmt::format("None of them made progress in {}.", format_duration(evidence.watched));
    report.threads.push_back(
        shown(*group.front(), fmt::format("one of {}, waits for {}", group.size(),
                                          words_for(group.front()->waiting_for->kind))));
    report.numbers = {
        {"threads", static_cast<double>(group.size()), "", counted(group.size(), "thread")},
        {"grown", static_cast<double>(more), "", fmt::format("{} more than at first", more)}};
    report.advice = fmt::format(
        "check what should signal the wait in {}; give it a timeout or a CancellationToken", site);
    for (const auto* thread : group) report.sufferers.push_back(thread->os_id());
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding zombie_threads_finding{
    .id = "CS1302",
    .title = "zombie threads",
    .description =
        "Threads that have ended but are still referenced, or that wait for something nothing will "
        "signal.",
    .needs = {.snapshots = true},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
