// An ASP.NET application whose Main waits before the server accepts connections.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"seconds", 5, "age of the process from which on a start counts as hung"},
};

// Running hosts wait here until shutdown.
bool waits_for_shutdown(const inspect::ThreadView& thread) {
  const auto tells = [](std::string_view text) {
    return text.find("WaitForShutdown") != std::string_view::npos;
  };
  return tells(thread.waiting_for->detail) ||
         std::ranges::any_of(thread.frames, [&](const auto& frame) { return tells(frame.method); });
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& process = evidence.process;
  if (!process.web_server || process.listens.value_or(true)) return {};
  const auto age = process.up + evidence.watched;
  if (std::chrono::duration<double>(age).count() < parameters["seconds"]) return {};
  const auto& snapshot = *evidence.last_snapshot();
  for (const auto& thread : snapshot.threads) {
    if (!is_main(snapshot, thread) || !unmoved(evidence, thread.os_id())) continue;
    const auto& wait = *thread.waiting_for;
    if (waits_for_shutdown(thread) || wait.timed) continue;
    Report report{.severity = Severity::kError, .confidence = Confidence::kLikely};
    report.title = fmt::format("Hung start: Main waits in {}, and the web server is not started",
                               site_text(thread));
    auto what = fmt::format("waits for {}", words_for(wait.kind));
    if (!wait.type.empty()) what += fmt::format(" ({})", wait.type);
    if (!wait.detail.empty()) what += " " + wait.detail;
    report.summary = fmt::format(
        "The process has loaded ASP.NET and, {} after its start, accepts no connections. Its main "
        "thread made no progress in {}.",
        format_duration(age), format_duration(evidence.watched));
    report.threads.push_back(shown(thread, std::move(what), 5));
    if (wait.object != 0)
      report.objects = {{wait.object, wait.type, std::string{words_for(wait.kind)}}};
    report.numbers = {{"ageSeconds", std::chrono::duration<double>(age).count(), "s",
                       fmt::format("started {} ago", format_duration(age))}};
    report.advice = fmt::format(
        "give what {} waits for a timeout (a database, a configuration server, a lock), or start "
        "the server first and load in the background",
        site_text(thread));
    report.sufferers = {thread.os_id()};
    if (wait.owner_os_id != 0) report.culprits = {wait.owner_os_id};
    return {report};
  }
  return {};
}

}  // namespace

extern const Finding hung_start_finding{
    .id = "CS1308",
    .title = "hung start",
    .description = "An ASP.NET application whose Main waits before it accepts connections.",
    .needs = {.snapshots = true, .files = true, .live = true, .least = std::chrono::seconds{1}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory and files (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
