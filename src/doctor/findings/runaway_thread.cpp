// A thread that keeps a whole processor busy in one method.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 90, "minimum CPU use of the thread during the whole time, in CPUs"},
    {"samePercent", 95, "share of its samples in one method of the application"},
};

// The application's method that it was in, in all snapshots; empty: in several.
std::string only_method(const Evidence& evidence, std::uint32_t os_id) {
  std::string method;
  for (const auto& snapshot : evidence.snapshots) {
    const auto* thread = find_thread(snapshot, os_id);
    const auto* site = thread ? site_of(*thread) : nullptr;
    if (!site || (!method.empty() && method != site->method)) return {};
    method = site->method;
  }
  return method;
}

// The method that nearly all samples of the thread are in; empty: none.
std::string sampled_method(const CpuFacts& cpu, std::uint32_t os_id, double percent) {
  const auto at = std::ranges::find(cpu.threads, os_id, &CpuThread::os_id);
  if (at == cpu.threads.end() || at->top.method.empty()) return {};
  return 100 * at->top.total >= percent ? at->top.method : "";
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  if (evidence.snapshots.size() < 3 || evidence.watched.count() <= 0) return {};
  std::vector<Report> reports;
  for (const auto& thread : evidence.last_snapshot()->threads) {
    const auto used = cpu_used(evidence, thread.os_id());
    if (!used) continue;
    const auto percent = 100 * std::chrono::duration<double>(*used) /
                         std::chrono::duration<double>(evidence.watched);
    if (percent < parameters["percent"]) continue;
    const bool sampled = evidence.cpu && evidence.cpu->by_kernel;
    const auto method =
        sampled ? sampled_method(*evidence.cpu, thread.os_id(), parameters["samePercent"])
                : only_method(evidence, thread.os_id());
    if (same_regex_call(evidence, thread.os_id())) continue;  // CS1402 reports that
    if (method.empty() || (!sampled && evidence.snapshots.size() < 8)) continue;
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
    report.title = fmt::format("Runaway thread: {} has been in {} for {}", title_of(thread), method,
                               format_duration(evidence.watched));
    report.summary = fmt::format(
        "It used {:.0f} % of a CPU the whole time and was in no other method of the application.",
        percent);
    report.threads.push_back(shown(thread, "computes"));
    report.numbers = {{"cpuPercent", percent, "%", fmt::format("{:.0f} % of a CPU", percent)}};
    report.advice = fmt::format(
        "check {} for an endless loop: a flag that is not volatile, a collection modified by "
        "several threads, a regular expression that backtracks",
        method);
    report.sufferers = {thread.os_id()};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding runaway_thread_finding{
    .id = "CS1301",
    .title = "runaway thread",
    .description = "A thread that keeps one CPU busy in a single method of the application.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{5}},
    .price = "about 1 % of the process's CPU while it is watched",
    .rights = "permission to read the process's memory; perf events make the result more certain",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
