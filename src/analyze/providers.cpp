#include "analyze/providers.h"

#include <array>
#include <string_view>
#include <utility>

#include "symbols/il_map.h"

namespace clrscope::analyze {

Provider provider_of(const EventType& type) {
  static constexpr std::array<std::pair<std::string_view, Provider>, 6> kNames{{
      {"Microsoft-Windows-DotNETRuntime", Provider::kRuntime},
      {"Microsoft-Windows-DotNETRuntimeRundown", Provider::kRundown},
      {"Microsoft-DotNETCore-SampleProfiler", Provider::kSampler},
      {"Universal.System", Provider::kUniversalSystem},
      {"Universal.Events", Provider::kUniversalEvents},
      {kSymbolsProvider, Provider::kSymbols},
  }};
  for (const auto& [name, provider] : kNames)
    if (type.provider == name) return provider;
  return Provider::kOther;
}

Provider Providers::learn(const EventType& type) {
  if (type.index >= known_.size()) known_.resize(type.index + 1, Provider::kUnseen);
  return known_[type.index] = provider_of(type);
}

}  // namespace clrscope::analyze
