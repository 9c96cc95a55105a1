// Which events are samples of a thread's stack, and what they say of the thread.
#pragma once

#include <set>

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

// The sampler of .NET 9 says of (nearly) all threads that they have left managed code, also of
// those that compute in it. There the method on top of the stack is the better witness.
class SamplerTrust {
 public:
  void on_event(const Event& event, Provider provider);  // learns the runtimes' versions
  bool doubted(ProcessId process) const { return doubted_.contains(process); }

 private:
  std::set<ProcessId> doubted_;
};

// Waiting when the method on top is one that waits, or has no name.
ThreadState state_by_top(const Frame& top);

}  // namespace clrscope::analyze
