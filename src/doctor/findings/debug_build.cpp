// Assemblies of the application compiled for debugging: the JIT may not optimize them.
#include <fmt/format.h>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr std::size_t kShown = 10;

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  const auto& process = evidence.process;
  if (process.debug_assemblies.empty()) return {};
  const auto count = process.debug_assemblies.size();
  Report report{
      .severity = Severity::kWarning,
      .title = fmt::format("Debug build: {} of the application compiled without optimization",
                           count == 1 ? "an assembly" : fmt::format("{} assemblies", count))};
  report.summary =
      "Their DebuggableAttribute disables JIT optimization; such code is several times slower.";
  for (std::size_t i = 0; i < std::min(kShown, count); ++i)
    report.details.push_back(process.debug_assemblies[i]);
  report.numbers = {{"debugAssemblies", static_cast<double>(count), "",
                     fmt::format("{} of its assemblies", count)}};
  report.advice = "deploy the output of dotnet publish -c Release";
  return {report};
}

}  // namespace

extern const Finding debug_build_finding{
    .id = "CS1902",
    .title = "Debug build",
    .description = "Assemblies of the application that were compiled without optimization.",
    .needs = {.files = true, .live = true},
    .price = "none: reads the process's files",
    .rights = "permission to read the process's files",
    .examine = examine,
};

}  // namespace clrscope::doctor
