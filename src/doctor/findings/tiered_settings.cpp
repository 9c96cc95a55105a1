// JIT settings that make code slower than necessary.
#include <fmt/format.h>

#include "doctor/finding.h"
#include "doctor/settings.h"

namespace clrscope::doctor {
namespace {

struct Switch {
  std::string_view variable;  // after DOTNET_ or COMPlus_
  std::string_view property;  // of runtimeconfig.json
  bool bad;                   // this value is the surprising one
  std::string_view what;
  std::string_view advice;
};

constexpr Switch kSwitches[] = {
    {"JITMinOpts", "", true, "the JIT optimizes nothing", "unset DOTNET_JITMinOpts"},
    {"TC_OnStackReplacement", "", false, "methods with loops stay slow until called often",
     "unset DOTNET_TC_OnStackReplacement"},
    {"TieredCompilation", "System.Runtime.TieredCompilation", false,
     "precompiled code is never recompiled, so it lacks the best optimizations",
     "unset DOTNET_TieredCompilation (TieredCompilation in the project)"},
    {"TieredPGO", "System.Runtime.TieredPGO", false,
     "the JIT does not use profiles of the running code",
     "unset DOTNET_TieredPGO (TieredPGO in the project)"},
    {"ReadyToRun", "", false, "precompiled code is not used: start-up compiles everything",
     "unset DOTNET_ReadyToRun"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  std::vector<Report> reports;
  for (const auto& one : kSwitches) {
    const auto told = setting(evidence.process, one.variable, one.property);
    if (!told || told->truth() != one.bad) continue;
    const bool harm = one.variable == "JITMinOpts";
    Report report{.severity = harm ? Severity::kWarning : Severity::kInfo,
                  .title = fmt::format("JIT setting: {}", told->source)};
    report.summary = fmt::format("With it, {}.", one.what);
    report.advice = fmt::format("{}, unless it was measured to help", one.advice);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding tiered_settings_finding{
    .id = "CS1903",
    .title = "JIT settings",
    .description = "JIT settings that make code slower than necessary.",
    .needs = {.files = true, .live = true},
    .price = "none: reads /proc and runtimeconfig.json",
    .rights = "permission to read the process's environment and files",
    .examine = examine,
};

}  // namespace clrscope::doctor
