// Shows where CPU time is spent, one interval after the other, until it is stopped or its target
// ends.
//
// The kernel samples if permitted, else the agent (which is loaded for that time), else the
// runtime; names come from one session of each .NET process and, for what was loaded before, a
// short one. Nothing is written to disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/live_times.h"
#include "base/result.h"
#include "collect/stop_reason.h"
#include "model/sampling.h"
#include "ops/agent_listener.h"
#include "ops/plan.h"
#include "ops/sampler.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using analyze::FrameKind;
using collect::StopReason;

struct TopRequest {
  TargetRequest target;
  bool whole_machine = false;
  std::optional<std::chrono::nanoseconds> duration{};
  std::chrono::nanoseconds interval = std::chrono::seconds{1};
  unsigned rate = kUsualRate;
  Sampler sampler = Sampler::kBest;
  bool may_load_agent = true;  // where perf is refused
  bool keep_samples = false;   // intervals have each sample
  std::string symbol_folder{};
  std::span<const int> stop_fds{};
};

struct TopInterval : analyze::LiveInterval {
  std::vector<AgentSourceState> agent{};  // of an agent that was loaded already
  std::uint64_t lost = 0;                 // samples, since the start
  Sampling sampled_by = Sampling::kPerf;
  double busy() const;  // processors, on average
};

struct TopWatcher {
  std::function<void(const Process&, const Plan&)> on_start{};
  std::function<void(const TopInterval&)> on_interval{};
};

struct TopSummary {
  std::optional<collect::StopReason> stopped_by{};
  std::uint64_t intervals = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::vector<std::string> notes{};
};

Result<TopSummary> top(const TopRequest& request, const TopWatcher& watcher);

}  // namespace clrscope::ops
