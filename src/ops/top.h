// Shows where processors spend their time while they do: one interval after the other, until it is
// stopped or its target ends.
//
// The kernel samples where it may, else the runtime does; names come from one session of each .NET
// process and, for what was loaded before, a short one. Nothing is written anywhere.
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
#include "ops/plan.h"
#include "ops/target.h"

namespace clrscope::ops {

struct TopWish {
  TargetWish target;
  bool whole_machine = false;
  std::optional<std::chrono::nanoseconds> duration{};
  std::chrono::nanoseconds interval = std::chrono::seconds{1};
  unsigned rate = 999;
  std::string symbol_folder{};
  std::span<const int> stop_fds{};
};

struct TopInterval : analyze::LiveInterval {
  std::uint64_t lost = 0;   // samples, since the start
  bool by_runtime = false;  // sampled by the runtimes
  double busy() const;      // processors, on average
};

struct TopWatcher {
  std::function<void(const Process&, const Plan&)> on_start{};
  std::function<void(const TopInterval&)> on_interval{};
};

struct TopSummary {
  std::string asked_by;  // "duration", "signal", "target ended"
  std::uint64_t intervals = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::vector<std::string> notes{};
};

Result<TopSummary> top(const TopWish& wish, const TopWatcher& watcher);

}  // namespace clrscope::ops
