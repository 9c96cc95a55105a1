// Async methods that wait for a reply that nobody sends, or for a semaphore that nobody releases.
//
// Only waits that somebody must end: a timer, a socket or a channel may rightly be quiet for long,
// and so may one or two methods that wait for a signal such as the end of the program.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::AsyncGroup;
using inspect::AsyncSnapshot;
using inspect::AwaitKind;

constexpr Parameter kParameters[] = {
    {"tasks", 3, "equal async stacks that did not move during the examination"},
};

constexpr std::int64_t kNoLimit = 0x7fffffff;  // of a semaphore that was given none

bool is_framework(std::string_view method) {
  return method.starts_with("System.") || method.starts_with("Microsoft.") ||
         method.starts_with("Task.");
}

// The innermost method is the program's own: the framework waits for much that is not due.
bool is_own(const AsyncSnapshot& seen, const AsyncGroup& group) {
  return !group.steps.empty() && !is_framework(seen.method(group.steps.front()));
}

bool in_cycle(const AsyncSnapshot& seen, std::uint64_t semaphore) {
  return std::ranges::any_of(seen.cycles, [&](const auto& cycle) {
    return std::ranges::any_of(cycle.links,
                               [&](const auto& link) { return link.awaits == semaphore; });
  });
}

// One that somebody has to end soon. A semaphore without a limit may be a signal: consumers wait.
bool must_end(const AsyncSnapshot& seen, const AsyncGroup& group) {
  const auto& wait = group.wait;
  if (wait.kind == AwaitKind::kCompletionSource) return true;
  return wait.kind == AwaitKind::kSemaphore && wait.free == 0 &&
         wait.most.value_or(kNoLimit) < kNoLimit && !in_cycle(seen, wait.object);
}

std::string chain_text(const AsyncSnapshot& seen, const AsyncGroup& group) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(group.steps.size(), kShown); ++i)
    text += (i == 0 ? "" : " → ") + seen.method(group.steps[i]);
  if (group.steps.size() > kShown) text += " → …";
  return text;
}

Report report_of(const AsyncSnapshot& seen, const AsyncGroup& group) {
  const auto& method = seen.method(group.steps.front());
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
  report.title = fmt::format("Stuck tasks: {} {} in {}", counted(group.unchanged, "task"),
                             group.unchanged == 1 ? "waits" : "wait", method);
  report.summary = fmt::format("No progress in {}: {}.", format_duration(*seen.over),
                               inspect::wait_text(group.wait));
  report.details = {"await chain, innermost first: " + chain_text(seen, group)};
  if (group.wait.object != 0) report.objects = {{group.wait.object, group.wait.type, "awaited"}};
  report.numbers = {{"stuckTasks", static_cast<double>(group.unchanged), "",
                     counted(group.unchanged, "task") + " that did not move"}};
  report.advice =
      group.wait.kind == AwaitKind::kSemaphore
          ? fmt::format(
                "release the semaphore in a finally block, and give WaitAsync in {} a "
                "timeout: whoever holds it does not release it",
                method)
          : fmt::format(
                "complete the TaskCompletionSource that {} awaits on every path, also when "
                "the reply fails or does not come; give the await a timeout (WaitAsync)",
                method);
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& seen = evidence.async.back();
  std::vector<Report> reports;
  if (!seen.over) return reports;
  constexpr std::size_t kMostReports = 5;
  for (const auto& group : groups_of(seen)) {
    if (static_cast<double>(group.unchanged) < parameters["tasks"]) continue;
    if (!must_end(seen, group) || !is_own(seen, group)) continue;
    auto report = report_of(seen, group);
    report.next = {remedy(evidence, "stacks", {{"async", ""}, {"over", "10s"}})};
    reports.push_back(std::move(report));
    if (reports.size() == kMostReports) break;
  }
  return reports;
}

}  // namespace

extern const Finding stuck_task_finding{
    .id = "CS1205",
    .title = "stuck task",
    .description = "Async methods that wait for a reply or a semaphore and do not move.",
    .needs = {.async = true, .live = true, .least = std::chrono::seconds{5}},
    .price = "two copies of the process's memory: each pauses it for 5 to 30 ms",
    .rights = "permission to trace the process (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
