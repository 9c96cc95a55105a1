// Invariant globalization together with a culture that somebody asked for: it is not there.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/settings.h"

namespace clrscope::doctor {
namespace {

// A language that the environment names, other than none.
std::string language(const ProcessFacts& process) {
  for (const auto* name : {"LC_ALL", "LC_MESSAGES", "LANG"})
    if (const auto at = process.environment.find(name);
        at != process.environment.end() && !at->second.empty()) {
      const auto base = at->second.substr(0, at->second.find_first_of(".@"));
      return base == "C" || base == "POSIX" || base.starts_with("en") ? "" : at->second;
    }
  return "";
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  const auto& process = evidence.process;
  const auto told =
      setting(process, "SYSTEM_GLOBALIZATION_INVARIANT", "System.Globalization.Invariant");
  if (!told || !told->truth().value_or(false)) return {};
  const auto wanted = language(process);
  if (wanted.empty()) return {};
  Report report{.severity = Severity::kWarning,
                .confidence = Confidence::kLikely,
                .title = fmt::format(
                    "Invariant globalization is on, but the environment requests {}", wanted)};
  report.summary =
      "Every culture behaves like the invariant culture: dates, numbers, sorting and casing of "
      "that language are ignored, and creating a culture by name throws on .NET 8 and later.";
  report.advice =
      "install ICU and unset DOTNET_SYSTEM_GLOBALIZATION_INVARIANT (InvariantGlobalization in the "
      "project), or remove the language from the environment";
  return {report};
}

}  // namespace

extern const Finding invariant_globalization_finding{
    .id = "CS1904",
    .title = "invariant globalization",
    .description = "Culture data is disabled, but the environment requests a language.",
    .needs = {.files = true, .live = true},
    .price = "none: reads /proc and runtimeconfig.json",
    .rights = "permission to read the process's environment and files",
    .examine = examine,
};

}  // namespace clrscope::doctor
