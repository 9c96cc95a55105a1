// Server GC where memory or processors are scarce: a heap for each processor, collected late.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/settings.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"heapMb", 768, "heap limit below which server GC is reported"},
    {"processors", 2, "number of CPUs up to which server GC is reported"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& process = evidence.process;
  if (process.server_gc_threads.value_or(0) == 0) return {};
  const auto limit = heap_limit(process);
  const bool little_memory =
      limit && static_cast<double>(*limit) < parameters["heapMb"] * 1'048'576;
  const bool few_processors = process.few_by_cgroup && process.processors &&
                              *process.processors <= parameters["processors"];
  if (!little_memory && !few_processors) return {};
  Report report{.severity = Severity::kWarning,
                .confidence = Confidence::kCertain,
                .title = "Server GC in a small container"};
  report.summary =
      fmt::format("Server GC uses {}", counted(*process.server_gc_threads, "collector thread"));
  if (little_memory)
    report.summary += fmt::format("; its heap may grow to {}", format_bytes(*limit));
  if (process.processors)
    report.summary += fmt::format("; it may use {:.1f} CPUs", *process.processors);
  report.summary +=
      ". It collects less often and keeps more memory, which is risky with such a limit.";
  report.numbers = {{"serverGcThreads", static_cast<double>(*process.server_gc_threads), "",
                     counted(*process.server_gc_threads, "collector thread")}};
  if (limit)
    report.numbers.push_back({"limitBytes", static_cast<double>(*limit), "B",
                              fmt::format("limit {}", format_bytes(*limit))});
  report.advice =
      "DOTNET_gcServer=0 (ServerGarbageCollection false in the project), or "
      "DOTNET_GCHeapCount with a small number";
  return {report};
}

}  // namespace

extern const Finding server_gc_finding{
    .id = "CS1901",
    .title = "server GC in a small container",
    .description = "Server GC in a container with little memory or few CPUs.",
    .needs = {.files = true, .live = true},
    .price = "none: reads /proc",
    .rights = "access to the process in /proc",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
