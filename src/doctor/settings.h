// Settings of the runtime, from its environment or from runtimeconfig.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/evidence.h"

namespace clrscope::doctor {

struct Setting {
  std::string value{};
  std::string source{};      // "DOTNET_TieredPGO=0", "System.GC.Server: true (runtimeconfig.json)"
  bool hexadecimal = false;  // as numbers in the environment are

  std::optional<std::uint64_t> number() const;
  std::optional<bool> truth() const;
};

// The environment's DOTNET_`variable` or COMPlus_`variable` wins over the property. Either may be
// empty: there is none of that kind.
std::optional<Setting> setting(const ProcessFacts& process, std::string_view variable,
                               std::string_view property);

// The heap limit of the GC: the configured one, or three quarters of a container's memory; nothing
// when it has no limit of its own.
std::optional<std::uint64_t> heap_limit(const ProcessFacts& process);

}  // namespace clrscope::doctor
