// Where a recording takes its samples from: the kernel, the agent, or the runtime's own sampler;
// and the message that says which and why.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "collect/perf/perf_attr.h"
#include "collect/perf/rights.h"
#include "ops/event_selection.h"
#include "ops/ladder.h"

namespace clrscope::ops {

// What perf grants for the target of a recording.
struct PerfGrant {
  bool works = false;
  std::string detail{};  // why not
  std::string hint{};
  Wanted wanted = Wanted::kProcess;
  std::optional<collect::perf::Rights> rights{};  // in detail; none: all that is asked for
  AgentGrant agent{};                             // in place of perf
};

// Of a process as we see it; 0 is the whole machine.
PerfGrant perf_grant(pid_t process);

struct Plan {
  EventSelection selection;
  std::vector<collect::perf::EventRequest> perf_events{};
  bool kernel = false;  // perf rings beside the runtime's events
  bool agent = false;   // the agent's samples in their place
  Rung rung{};
  bool waits_while_cheap = false;  // nobody asked for them: left out where they cost much
  std::string note{};              // what was chosen and why, when it was not what the words say
  std::string hint{};
};

// Where a recording's stacks come from.
enum class Sampling : std::uint8_t { kNone, kPerf, kRuntime, kAgent };
std::span<const std::string_view> names_of(Sampling);  // "none", "perf", "runtime", "agent"
Sampling sampling_of(const Plan& plan);

// Whether the words mean anything, before a target is looked for.
Result<> check_words(const ProviderWords& words);

// Whether these words ask for CPU samples.
Result<bool> wants_samples(const ProviderWords& words);

// Nothing asked for: dotnet-common with cpu-sampling where perf may be used (of the whole machine
// with waits, while they are cheap), else with the agent's samples or the runtime's sampler. Kernel
// profiles asked for but not granted: the agent or the runtime's sampler in their place.
Result<Plan> plan_recording(const ProviderWords& words, const PerfGrant& grant);

}  // namespace clrscope::ops
