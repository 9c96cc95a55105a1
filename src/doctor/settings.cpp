#include "doctor/settings.h"

#include <fmt/format.h>

#include "base/text.h"

namespace clrscope::doctor {

std::optional<std::uint64_t> Setting::number() const {
  const bool has_prefix = value.starts_with("0x") || value.starts_with("0X");
  return parse_number(hexadecimal && !has_prefix ? "0x" + value : value);
}

std::optional<bool> Setting::truth() const {
  if (equal_ignoring_case(value, "true")) return true;
  if (equal_ignoring_case(value, "false")) return false;
  const auto as_number = number();
  return as_number ? std::optional{*as_number != 0} : std::nullopt;
}

std::optional<Setting> setting(const ProcessFacts& process, std::string_view variable,
                               std::string_view property) {
  for (const auto* prefix : {"DOTNET_", "COMPlus_"}) {
    if (variable.empty()) break;
    const auto name = fmt::format("{}{}", prefix, variable);
    if (const auto at = process.environment.find(name); at != process.environment.end())
      return Setting{at->second, fmt::format("{}={}", name, at->second), true};
  }
  if (const auto at = process.runtime_config.find(std::string{property});
      at != process.runtime_config.end())
    return Setting{at->second, fmt::format("{}: {} (runtimeconfig.json)", property, at->second)};
  return {};
}

std::optional<std::uint64_t> heap_limit(const ProcessFacts& process) {
  if (const auto told = setting(process, "GCHeapHardLimit", "System.GC.HeapHardLimit"))
    if (const auto bytes = told->number(); bytes && *bytes > 0) return bytes;
  if (process.memory_limit) return *process.memory_limit / 4 * 3;
  return {};
}

}  // namespace clrscope::doctor
