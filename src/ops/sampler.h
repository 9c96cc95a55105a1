// Who takes the CPU samples of a recording: the kernel, the agent in the process, or the runtime;
// and the agents that were loaded for it, until they go.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/agent/cpu_samples.h"
#include "ops/agent_place.h"
#include "ops/plan.h"
#include "ops/target.h"

namespace clrscope::ops {

// kBest is the highest rung that there is.
enum class Sampler : std::uint8_t { kBest, kPerf, kAgent, kRuntime };
std::span<const std::string_view> names_of(Sampler);  // "best", "perf", "agent", "runtime"
Result<Sampler> parse_sampler(std::string_view name);

// Agents that take CPU samples, each loaded and opened. Those that were loaded for it are removed
// with the object; their processes may have ended.
class AgentSamplers {
 public:
  AgentSamplers() = default;
  AgentSamplers(AgentSamplers&&) noexcept = default;
  AgentSamplers& operator=(AgentSamplers&&) = delete;
  ~AgentSamplers();

  Result<> add(Target& target, unsigned rate);
  std::vector<collect::AgentCpuSamples*> all() const;
  bool empty() const { return loaded_.empty(); }
  std::vector<std::string> notes{};  // whom they do not sample, a line each

 private:
  struct One {
    LoadedAgent agent;
    std::unique_ptr<collect::AgentCpuSamples> samples;  // borrows the connection
  };
  std::vector<std::unique_ptr<One>> loaded_;
};

struct SamplerRequest {
  Sampler sampler = Sampler::kBest;
  bool may_load_agent = false;  // where perf is refused; kAgent always may
  bool whole_machine = false;   // then agents are loaded for kAgent only
  unsigned rate = kUsualRate;
};

// Changes the grant to what was chosen, so that plan_recording() plans for it.
Result<AgentSamplers> choose_sampler(const SamplerRequest& request, const ProviderWords& words,
                                     Target& target, PerfGrant& grant);

}  // namespace clrscope::ops
