// The runtime does not answer on its diagnostic port, though the process runs.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  if (evidence.silent.count() == 0 || evidence.standstill) return {};
  if (!start_held_by(evidence).empty()) return {};
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
  report.title =
      fmt::format("The runtime does not answer: no events in {} after they were requested",
                  format_duration(evidence.silent));
  report.summary =
      "Its diagnostic port accepts connections but does not answer: the runtime is suspended or "
      "hangs, its main thread is still starting, or it gets no CPU time.";
  report.advice =
      "run clrscope stacks, which needs no answer from the runtime, and look for a thread that "
      "never leaves native code or a collection that waits for a thread";
  report.next = {remedy(evidence, "stacks", {{"native", ""}})};
  return {report};
}

}  // namespace

extern const Finding silent_runtime_finding{
    .id = "CS1304",
    .title = "silent runtime",
    .description = "The process runs, but its runtime does not answer on its diagnostic port.",
    .needs = {.live = true, .least = std::chrono::seconds{1}},
    .price = "one connection to the diagnostic port",
    .rights = "the diagnostic port",
    .examine = examine,
};

}  // namespace clrscope::doctor
