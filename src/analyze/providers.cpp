#include "analyze/providers.h"

#include <array>
#include <string_view>
#include <utility>

#include "model/provider_names.h"

namespace clrscope::analyze {

Provider provider_of(const EventType& type) {
  static constexpr std::array<std::pair<std::string_view, Provider>, 6> kNames{{
      {kRuntimeProvider, Provider::kRuntime},
      {kRundownProvider, Provider::kRundown},
      {kSamplerProvider, Provider::kSampler},
      {kUniversalSystemProvider, Provider::kUniversalSystem},
      {kUniversalEventsProvider, Provider::kUniversalEvents},
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
