// A finalizer that waits: nothing behind it is finalized, and all of it stays in memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr std::string_view kFinalizer = ".NET Finalizer";

std::uint64_t finalizable(const Evidence& evidence) {
  std::uint64_t most = 0;
  if (evidence.events)
    for (const auto& gc : evidence.events->collections) most = std::max(most, gc.finalizable);
  return most;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  for (const auto& thread : evidence.last_snapshot()->threads) {
    if (thread.os.name != kFinalizer || !unmoved(evidence, thread.os_id())) continue;
    // Without the application's code on its stack it waits for something to finalize.
    const auto* site = site_of(thread);
    if (!site || site->kind != inspect::FrameKind::kManaged) continue;
    const auto& wait = *thread.waiting_for;
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
    report.title = fmt::format("Finalizer blocked in {}", site_text(thread));
    report.summary = fmt::format(
        "The finalizer thread has waited ({}) for {} or longer. No other finalizer runs meanwhile: "
        "objects that have one, and all that they refer to, stay in memory.",
        words_for(wait.kind), format_duration(evidence.watched));
    report.threads.push_back(shown(thread, fmt::format("waits for {}", words_for(wait.kind)), 5));
    if (const auto count = finalizable(evidence); count > 0) {
      report.details.push_back(
          fmt::format("{} kept for finalizers by one collection", counted(count, "object")));
      report.numbers = {{"finalizable", static_cast<double>(count), "",
                         fmt::format("{} kept for finalizers", counted(count, "object"))}};
    }
    report.advice = fmt::format(
        "never wait in a finalizer: release what {} holds without a lock, a task or a reply, or do "
        "it in Dispose",
        site_text(thread));
    report.sufferers = {thread.os_id()};
    if (wait.owner_os_id != 0) report.culprits = {wait.owner_os_id};
    return {report};
  }
  return {};
}

}  // namespace

extern const Finding blocked_finalizer_finding{
    .id = "CS1603",
    .title = "blocked finalizer",
    .description = "The finalizer thread waits in a finalizer of the application.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{1}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
