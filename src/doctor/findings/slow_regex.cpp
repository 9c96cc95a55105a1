// A regular expression that backtracks: one match of one text that does not end.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 50, "share of the snapshots in which the thread runs, or waits for a CPU only"},
};

double percent_running(const Evidence& evidence, std::uint32_t os_id) {
  const auto running = std::ranges::count_if(evidence.snapshots, [&](const auto& snapshot) {
    const auto* thread = find_thread(snapshot, os_id);
    return thread && thread->running;
  });
  return 100 * static_cast<double>(running) / static_cast<double>(evidence.snapshots.size());
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  std::vector<Report> reports;
  for (const auto& thread : evidence.last_snapshot()->threads) {
    const auto* call = same_regex_call(evidence, thread.os_id());
    if (!call || percent_running(evidence, thread.os_id()) < parameters["percent"]) continue;
    const auto used = cpu_used(evidence, thread.os_id()).value_or(std::chrono::nanoseconds{});
    const auto site = site_text(thread);
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
    report.title = fmt::format("Regular expression: one match in {} has lasted {} or longer", site,
                               format_duration(evidence.watched));
    report.summary = fmt::format(
        "The thread matched the same text of {} characters in all {} snapshots and used {} of CPU "
        "time. The time that such a pattern needs can double with each character.",
        call->length, evidence.snapshots.size(), format_duration(used));
    report.details.push_back(fmt::format("pattern: {}", call->pattern));
    report.threads.push_back(shown(thread, "matches a regular expression"));
    report.numbers = {{"cpuMs", std::chrono::duration<double, std::milli>(used).count(), "ms",
                       fmt::format("{} of CPU time", format_duration(used))},
                      {"textLength", static_cast<double>(call->length), "",
                       fmt::format("{} characters", call->length)}};
    report.advice = fmt::format(
        "rewrite the pattern without nested quantifiers, or give the Regex in {} a match timeout "
        "or RegexOptions.NonBacktracking",
        site);
    report.sufferers = {thread.os_id()};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding slow_regex_finding{
    .id = "CS1402",
    .title = "regular expression that backtracks",
    .description = "A thread that matches one text with one regular expression all the time.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{2}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
