// Threads that are started all the time and do not end.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::Snapshot;
using inspect::ThreadView;

constexpr Parameter kParameters[] = {
    {"grown", 5, "number of additional threads of the same start since the first snapshot"},
};

using ByEntry = std::map<std::string, std::vector<const ThreadView*>>;

// What threads of one kind share: their name without its number, or the method they start in. The
// method changes when the compiler inlines it; the name does not.
std::string kind_of(const ThreadView& thread) {
  auto name = thread.runtime->name;
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name.empty() ? entry_of(thread) : "name " + name;
}

// The pool decides itself how many threads it needs, and those that only wait are zombies.
ByEntry by_entry(const Snapshot& snapshot) {
  ByEntry entries;
  for (const auto& thread : snapshot.threads) {
    if (!thread.runtime || thread.runtime->pool || waits_for_nobody(thread)) continue;
    if (!entry_of(thread).empty()) entries[kind_of(thread)].push_back(&thread);
  }
  return entries;
}

// How many threads of that start there were in each snapshot.
std::vector<std::size_t> counts_of(const Evidence& evidence, const std::string& entry) {
  std::vector<std::size_t> counts;
  for (const auto& snapshot : evidence.snapshots) {
    const auto entries = by_entry(snapshot);
    const auto at = entries.find(entry);
    counts.push_back(at == entries.end() ? 0 : at->second.size());
  }
  return counts;
}

// More in most of the snapshots than in the one before: a start of many at once is no leak, nor are
// threads that come and go.
bool keeps_growing(const std::vector<std::size_t>& counts) {
  if (counts.size() < 3 || counts.back() <= counts.front() || falls(counts)) return false;
  std::size_t grown = 0;
  for (std::size_t i = 1; i < counts.size(); ++i)
    if (counts[i] > counts[i - 1]) ++grown;
  return grown * 10 >= (counts.size() - 1) * 6;
}

Report report_of(const Evidence& evidence, const std::vector<const ThreadView*>& group,
                 const std::vector<std::size_t>& counts) {
  const auto more = counts.back() - counts.front();
  const auto rate = static_cast<double>(more) / std::max(evidence.watched_seconds(), 0.001);
  const auto entry = entry_of(*group.front());
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
  report.title = fmt::format("Thread leak: {} threads run {}, {:.1f} more each second",
                             group.size(), entry, rate);
  report.summary = fmt::format(
      "{} were started in {}, and none of them ended. Each thread costs memory for its "
      "stack and time in every collection.",
      more, format_duration(evidence.watched));
  std::map<std::string, const ThreadView*> sites;
  for (const auto* thread : group) sites.emplace(site_text(*thread), thread);
  constexpr std::size_t kShown = 2;
  for (const auto& [site, thread] : sites)
    if (report.threads.size() < kShown)
      report.threads.push_back(shown(*thread, fmt::format("one of {}", group.size())));
  report.numbers = {
      {"threads", static_cast<double>(group.size()), "", counted(group.size(), "thread")},
      {"perSecond", rate, "1/s", fmt::format("{:.1f} more each second", rate)}};
  report.advice = fmt::format(
      "let the threads of {} end (a CancellationToken, a closed connection), or use tasks and the "
      "thread pool instead of a thread for each job",
      entry);
  for (const auto* thread : group) report.sufferers.push_back(thread->os_id());
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  std::vector<Report> reports;
  for (const auto& [entry, group] : by_entry(*evidence.last_snapshot())) {
    const auto counts = counts_of(evidence, entry);
    if (!keeps_growing(counts) ||
        static_cast<double>(counts.back() - counts.front()) < parameters["grown"])
      continue;
    reports.push_back(report_of(evidence, group, counts));
  }
  return reports;
}

}  // namespace

extern const Finding thread_leak_finding{
    .id = "CS1307",
    .title = "thread leak",
    .description = "More and more threads of the same start that do not end.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{2}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
