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
    report.title = "The process is stopped: no thread of it runs";
    report.summary =
        "A signal stopped it (SIGSTOP, or job control of a terminal), and nothing has let it go on "
        "since.";
    report.advice = fmt::format("kill -CONT {} lets it go on; find out who stopped it", pid);
  } else {
    report.title = fmt::format("The process is held by {} ({})", name, tracer);
    report.summary = "A debugger or tracer has stopped it; no thread of it runs.";
    report.advice = fmt::format("let it go on in {}, or end process {}", name, tracer);
  }
  return {report};
}

}  // namespace

extern const Finding stopped_process_finding{
    .id = "CS1303",
    .title = "stopped process",
    .description = "The whole process stands still: a signal stopped it, or a debugger holds it.",
    .needs = {.state = true, .live = true},
    .price = "nothing",
    .rights = "none",
    .examine = examine,
};

}  // namespace clrscope::doctor
