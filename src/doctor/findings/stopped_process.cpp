// The process does not run at all: a signal stopped it, or a debugger holds it.
#include <fmt/format.h>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  if (!evidence.standstill) return {};
  const auto& [tracer, name] = *evidence.standstill;
  const auto pid = evidence.process.pid;
  Report report{.severity = Severity::kError};
  if (tracer == 0) {
    report.title = "The process is stopped: none of its threads runs";
    report.summary =
        "A signal stopped it (SIGSTOP, or job control of a terminal), and it was not continued.";
    report.advice =
        fmt::format("run kill -CONT {} to continue it, and find out what stopped it", pid);
  } else {
    report.title = fmt::format("The process is held by {} ({})", name, tracer);
    report.summary = "A debugger or tracer has stopped it; none of its threads runs.";
    report.advice = fmt::format("continue it in {}, or end process {}", name, tracer);
  }
  return {report};
}

}  // namespace

extern const Finding stopped_process_finding{
    .id = "CS1303",
    .title = "stopped process",
    .description = "The whole process is stopped by a signal or held by a debugger.",
    .needs = {.state = true, .live = true},
    .price = "nothing",
    .rights = "none",
    .examine = examine,
};

}  // namespace clrscope::doctor
