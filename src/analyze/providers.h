// Who wrote an event, told once for each event type instead of by comparing texts for each event.
#pragma once

#include <cstdint>
#include <vector>

#include "model/event.h"

namespace clrscope::analyze {

enum class Provider : std::uint8_t {
  kUnseen,
  kOther,
  kRuntime,          // Microsoft-Windows-DotNETRuntime
  kRundown,          // Microsoft-Windows-DotNETRuntimeRundown
  kSampler,          // Microsoft-DotNETCore-SampleProfiler
  kUniversalSystem,  // Universal.System
  kUniversalEvents,  // Universal.Events
  kSymbols,          // Clrscope.Symbols
};

Provider provider_of(const EventType& type);

// For the types of one reader; forget() before the next.
class Providers {
 public:
  Provider of(const EventType& type) {
    if (type.index < known_.size() && known_[type.index] != Provider::kUnseen)
      return known_[type.index];
    return learn(type);
  }
  void forget() { known_.clear(); }

 private:
  Provider learn(const EventType& type);

  std::vector<Provider> known_;
};

}  // namespace clrscope::analyze
