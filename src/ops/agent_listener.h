// Listens to the agent of a process for as long as the object lives: for a page, for top, for the
// doctor. Sources are switched while it runs.
//
// Never loads the agent: it must be there. Its own thread empties the rings; the other functions
// may be called by any thread. Only one at a time can listen to an agent.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "base/guarded.h"
#include "ops/agent_counters.h"
#include "ops/agent_place.h"

namespace clrscope::ops {

struct AgentSourceState {
  std::string id{};
  bool on = false;
  std::chrono::nanoseconds on_time{};        // all the time that it was on
  std::uint64_t count = 0;                   // in that time
  double per_second = 0;                     // in the last seconds
  std::chrono::nanoseconds callback_time{};  // what it cost on the threads of the process
};
const Shape& shape_of(const AgentSourceState*);

struct AgentSeen {
  pid_t pid = 0;
  std::string ended{};  // why listening has ended; empty: somebody does
  std::vector<AgentSourceState> sources{};
  std::chrono::nanoseconds callback_time{};
  std::vector<AgentDrop> dropped{};
  // Of the sources that were on.
  std::optional<AgentExceptions> exceptions{};
  std::optional<AgentContention> contention{};
  std::optional<AgentAllocations> allocations{};
  std::optional<AgentSurvivors> survivors{};
};
const Shape& shape_of(const AgentSeen*);

class AgentListener {
 public:
  // kNotFound: no agent is loaded. kBusy: another one listens.
  static Result<std::unique_ptr<AgentListener>> open(pid_t pid);
  ~AgentListener();  // all sources off

  // The sources (wire::Source) that are on from now on.
  Result<> switch_to(std::uint32_t sources);
  AgentSeen seen() const;
  std::vector<AgentSourceState> states() const;  // cheaper: no tables

 private:
  AgentListener(pid_t pid, collect::AgentConnection connection, collect::AgentArena arena);

  struct Meter {
    bool on = false;
    TraceTime since{};
    std::chrono::nanoseconds before{};  // of earlier times
    std::uint64_t marked = 0;           // count at the last mark
    double per_second = 0;
    std::chrono::nanoseconds on_time(TraceTime now) const {
      return on ? before + (now - since) : before;
    }
  };
  static constexpr std::size_t kMeters = 4;  // of the sources that can be switched here
  struct Heard {
    explicit Heard(collect::AgentArena shared) : arena(std::move(shared)) {}
    collect::AgentArena arena;
    AgentCounters counters{};
    Meter meters[kMeters]{};
    TraceTime marked{};
    std::string ended{};
  };
  void run(std::stop_token stop);
  static std::uint64_t count_of(const Heard& heard, std::size_t index);
  static void mark(Heard& heard, TraceTime now);
  static std::vector<AgentSourceState> states_of(const Heard& heard, TraceTime now);

  const pid_t pid_;
  Guarded<collect::AgentConnection> connection_;
  mutable Guarded<Heard> heard_;
  std::atomic<std::uint32_t> sources_{0};
  int fd_ = -1;
  std::jthread reader_;  // last member: joins first
};

}  // namespace clrscope::ops
