// Which events are samples of a thread's stack, and what they say of the thread.
#pragma once

#include "analyze/profile.h"
#include "analyze/providers.h"

namespace clrscope::analyze {

// The runtime's sampler has one event; a V6 trace's CPU samples are called "cpu".
inline bool is_sample(const Event& event, Provider provider) {
  if (provider == Provider::kSampler) return event.type->id == 0;
  return provider == Provider::kUniversalEvents && event.type->name == "cpu";
}

// See ThreadState for what the sampler can know.
inline ThreadState sample_state(const Event& event, Provider provider) {
  if (provider == Provider::kUniversalEvents) return ThreadState::kRunning;
  constexpr std::uint32_t kExternal = 1;
  constexpr std::uint32_t kManaged = 2;
  std::uint32_t type = 0;
  if (event.payload.size() >= sizeof type) std::memcpy(&type, event.payload.data(), sizeof type);
  if (type == kManaged) return ThreadState::kRunning;
  return type == kExternal ? ThreadState::kWaiting : ThreadState::kUnknown;
}

}  // namespace clrscope::analyze
