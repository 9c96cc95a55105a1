// Which events are samples of a thread's stack, and what they say of the thread.
#pragma once

#include <algorithm>
#include <set>

#include "analyze/profile.h"
#include "analyze/providers.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

// The runtime's sampler has one event; a V6 trace's CPU samples are called "cpu".
inline bool is_sample(const Event& event, Provider provider) {
  if (provider == Provider::kSampler) return event.type->id == 0;
  return provider == Provider::kUniversalEvents && event.type->name == "cpu";
}

// Samples, and the time they stand for. Shares are of time: a recorder may vary its rate.
struct SampleSum {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;

  SampleSum& operator+=(const SampleSum& more) {
    count += more.count;
    ns += more.ns;
    return *this;
  }
};

// One sample. Ours say their period; those of others stand for the trace's own, once or as often as
// their value says.
inline SampleSum one_sample(const nettrace::Reader& reader, const Event& event, Provider provider) {
  constexpr std::uint64_t kUsualNs = 1'000'000;
  constexpr std::uint64_t kMostNs = 10'000'000'000;  // whatever a trace says
  const auto* info = reader.info();
  const std::uint64_t usual = info && info->sampling_ns != 0 ? info->sampling_ns : kUsualNs;
  if (provider != Provider::kUniversalEvents) return {1, usual};
  ByteReader in{event.payload};
  const auto value = std::clamp<std::uint64_t>(in.read_varuint(), 1, kMostNs / usual + 1);
  const auto& fields = event.type->fields;
  const bool told = fields.size() > 1 && fields[1].name == "Period";
  const auto ns = told ? in.read_varuint() : value * usual;
  return {1, std::clamp<std::uint64_t>(in.ok() ? ns : usual, 1, kMostNs)};
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
