// A regular expression that backtracks: one match of one text that does not end.
#include <fmt/format.h>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 50, "CPU use of the thread while it matches, in percent of a CPU"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  std::vector<Report> reports;
  for (const auto& thread : evidence.last_snapshot()->threads) {
    const auto* call = same_regex_call(evidence, thread.os_id());
    const auto used = cpu_used(evidence, thread.os_id());
    if (!call || !used || evidence.watched.count() <= 0) continue;
    const auto percent = 100 * std::chrono::duration<double>(*used) /
                         std::chrono::duration<double>(evidence.watched);
    if (percent < parameters["percent"]) continue;
    const auto site = site_text(thread);
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
    report.title = fmt::format("Regular expression: one match in {} has lasted {} or longer", site,
                               seconds_text(evidence.watched));
    report.summary = fmt::format(
        "The thread matched the same text of {} characters in all {} snapshots and used {:.0f} % "
        "of "
        "a CPU. The time such a pattern needs can double with each character.",
        call->length, evidence.snapshots.size(), percent);
    report.details.push_back(fmt::format("pattern: {}", call->pattern));
    report.threads.push_back(shown(thread, "matches a regular expression"));
    report.numbers = {{"cpuPercent", percent, "%", fmt::format("{:.0f} % of a CPU", percent)},
                      {"textLength", static_cast<double>(call->length), "",
                       fmt::format("{} characters", call->length)}};
    report.advice = fmt::format(
        "rewrite the pattern without nested quantifiers, or give the Regex in {} a match timeout "
        "or "
        "RegexOptions.NonBacktracking",
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
