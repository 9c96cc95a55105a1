// Async methods that wait for each other: no thread is blocked, and nothing goes on.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::AsyncCycle;

std::vector<std::string> methods_of(const AsyncCycle& cycle) {
  std::vector<std::string> methods;
  for (const auto& link : cycle.links) methods.push_back(link.method);
  std::ranges::sort(methods);
  return methods;
}

// It was there at the beginning too. Addresses do not tell: collections move objects.
bool was_there(const Evidence& evidence, const AsyncCycle& cycle) {
  if (evidence.async.size() < 2) return true;
  return std::ranges::any_of(evidence.async.front().cycles, [&](const AsyncCycle& other) {
    return other.by_semaphores == cycle.by_semaphores && methods_of(other) == methods_of(cycle);
  });
}

std::string chain_text(const AsyncCycle::Link& link) {
  std::string text;
  for (const auto& frame : link.frames) text += (text.empty() ? "" : " → ") + frame;
  return text;
}

Report report_of(const AsyncCycle& cycle) {
  Report report{.severity = Severity::kError,
                .confidence = cycle.by_semaphores ? Confidence::kLikely : Confidence::kCertain};
  const auto& first = cycle.links.front();
  report.title =
      cycle.links.size() == 1
          ? fmt::format("Async deadlock: {} waits for itself", first.method)
          : fmt::format("Async deadlock: {} async methods wait for each other", cycle.links.size());
  report.summary = cycle.by_semaphores
                       ? "Each method holds the semaphore the next one needs. No thread is blocked."
                       : "Each method awaits the task of the next one. No thread is blocked.";
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(cycle.links.size(), kShown); ++i) {
    const auto& link = cycle.links[i];
    report.details.push_back(
        fmt::format("{} waits for {}{}", link.method, link.awaits_text,
                    link.holds.empty() ? std::string{} : fmt::format(", holds {}", link.holds)));
    if (link.frames.size() > 1)
      report.details.push_back("  await chain, innermost first: " + chain_text(link));
    report.objects.push_back(
        {link.awaits, cycle.by_semaphores ? "System.Threading.SemaphoreSlim" : link.awaits_text,
         cycle.by_semaphores ? "semaphore" : "task"});
  }
  report.numbers = {{"methods", static_cast<double>(cycle.links.size()), "",
                     counted(cycle.links.size(), "method") + " in the cycle"}};
  report.advice =
      cycle.by_semaphores
          ? fmt::format(
                "take the semaphores in the same order everywhere, and never call a method "
                "that takes a semaphore while {} holds it: SemaphoreSlim is not reentrant",
                first.method)
          : fmt::format("do not await in {} a task that awaits it in turn", first.method);
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  std::vector<Report> reports;
  constexpr std::size_t kMostReports = 5;
  for (const auto& cycle : evidence.async.back().cycles) {
    if (cycle.links.empty() || !was_there(evidence, cycle)) continue;
    auto report = report_of(cycle);
    report.next = {remedy(evidence, "stacks", {{"async", ""}})};
    reports.push_back(std::move(report));
    if (reports.size() == kMostReports) break;
  }
  return reports;
}

}  // namespace

extern const Finding async_deadlock_finding{
    .id = "CS1206",
    .title = "async deadlock",
    .description = "Async methods that wait for each other, by tasks or by semaphores.",
    .needs = {.async = true},
    .price = "one or two copies of the process's memory: each pauses it for 5 to 30 ms",
    .rights = "permission to trace the process (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
