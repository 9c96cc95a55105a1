// The runtime waits at its start for a diagnostic tool to let it go on: no managed code has run.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  const auto setting = start_held_by(evidence);
  if (setting.empty() || evidence.standstill) return {};
  const auto name = setting.substr(0, setting.find('='));
  Report report{.severity = Severity::kError};
  report.title = "The runtime waits at startup for a diagnostic tool to resume it";
  report.summary =
      fmt::format("{} tells it to wait, and no managed code has run in the {} since it started.",
                  setting, format_duration(evidence.process.up + evidence.watched));
  report.advice =
      fmt::format("start the tool that resumes it, or restart the process without {}", name);
  return {report};
}

}  // namespace

extern const Finding suspended_start_finding{
    .id = "CS1306",
    .title = "suspended start",
    .description =
        "The runtime is configured to wait at startup for a diagnostic tool, and still waits.",
    .needs = {.state = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "nothing",
    .rights = "permission to read the process's environment (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
