// Sends events and counters of processes, including ones that start later, to sinks until it is
// stopped.
//
// A route is one sink and its request; the hub serves all routes with as few sessions in each
// process as possible. Routes can be replaced while it runs (forward_config.h): unchanged ones are
// not interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "ops/event_selection.h"
#include "ops/watch.h"
#include "sinks/sink_kind.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using sinks::sink_kinds;

struct ForwardRoute {
  // Of which processes; a command or a diagnostic port only when it is the only route's.
  WatchRequest targets{};
  hub::SessionRequest request{};
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
  WatchRequest targets{};
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
  std::chrono::nanoseconds up{};
  double cpu_percent = 0;  // of one core, since it began
  std::uint64_t memory_bytes = 0;
  std::uint64_t reloads = 0;
  std::string last_reload{};  // "ok", or why the old plan stays in force
  std::vector<Process> processes{};
  std::vector<Sink> sinks{};

  std::string json() const;  // one line
};
const Shape& shape_of(const ForwardStatus::Process*);
const Shape& shape_of(const ForwardStatus::Sink*);
const Shape& shape_of(const ForwardStatus*);

struct ForwardRequest {
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
  collect::StopReason stopped_by{};
};

Result<ForwardSummary> forward(const ForwardRequest& request, const ForwardWatcher& watcher);

// The states, as JSON, of all forwards of this user that run; of one when `pid` is given.
Result<std::vector<std::string>> forward_states(std::optional<pid_t> pid);

}  // namespace clrscope::ops
