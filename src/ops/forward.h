// Events and counters of processes that come and go, to sinks, for as long as it is wanted.
//
// A route is one sink and what it asked for; the hub brings them together with as few sessions in
// each process as it can. Routes can be exchanged while it runs (forward_config.h): those that stay
// the same notice nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/watch.h"
#include "ops/wish.h"
#include "sinks/sink_kind.h"

namespace clrscope::ops {

struct ForwardRoute {
  // Of which processes; a command or a diagnostic port only when it is the only route's.
  WatchWish targets{};
  hub::SessionWish wish{};
  sinks::SinkAddress to{};
  std::string identity{};  // all of it as text: what is the same after a reload is left alone
};

struct ForwardPlan {
  std::vector<ForwardRoute> routes{};
  std::string spool{};  // folder; empty: none
  std::uint64_t spool_limit = 1ULL << 30;
  hub::MeterLimits limits{};  // of all routes
};

// A route as it was written, by flags or in a section of a file; made whole by route_of().
struct RouteWords {
  WatchWish targets{};
  std::vector<std::string> counters{};
  ProviderWords providers{};
  std::string where{};
  bool stacks = false;
  std::optional<std::chrono::nanoseconds> interval{};
  hub::MeterLimits limits{};
  std::string to{};
};
Result<ForwardRoute> route_of(const RouteWords& words);

struct ForwardStatus {
  struct Process {
    pid_t pid = 0;
    std::string name{};
    std::string runtime{};
    std::size_t sessions = 0;
    std::uint64_t events = 0;
    double events_per_second = 0;
    std::string ended{};
  };
  struct Sink {
    std::string to{};
    hub::SessionSummary summary{};
    double events_per_second = 0;
  };
  pid_t pid = 0;
  std::string config{};
  std::chrono::seconds up{};
  double cpu_percent = 0;  // of one core, since it began
  std::uint64_t memory_bytes = 0;
  std::uint64_t reloads = 0;
  std::string last_reload{};  // "ok", or why the old plan stays in force
  std::vector<Process> processes{};
  std::vector<Sink> sinks{};

  std::string json() const;
};

struct ForwardWish {
  ForwardPlan plan{};
  std::string config{};                              // where the plan was read, if it was
  std::function<Result<ForwardPlan>()> read_plan{};  // reads it again
  std::optional<std::chrono::nanoseconds> duration{};
  std::span<const int> stop_fds{};
  int reload_fd = -1;  // an eventfd: readable when the plan is to be read again
};

struct ForwardWatcher {
  std::function<void(const ForwardStatus&)> on_start{};
  std::function<void(const std::string&)> on_trouble{};
  std::function<void(const Result<>&)> on_reload{};
};

struct ForwardSummary {
  ForwardStatus last{};  // with what the sinks say at their end
  std::string ending{};  // "signal", "duration", "target ended"
};

Result<ForwardSummary> forward(const ForwardWish& wish, const ForwardWatcher& watcher);

// The states, as JSON, of all forwards of this user that run; of one when `pid` is given.
Result<std::vector<std::string>> forward_states(std::optional<pid_t> pid);

}  // namespace clrscope::ops
