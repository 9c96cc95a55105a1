// Listening to the agent of a process: what every source has in common.
#pragma once

#include <functional>

#include "ops/agent_counters.h"
#include "ops/agent_place.h"

namespace clrscope::ops {

struct Heard {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
using TakeRecord = std::function<void(const void* bytes, std::uint32_t size)>;
// Called once, at the end, while names can still be asked for.
using FinishListening = std::function<void(const collect::AgentArena& arena, Heard heard)>;

// Switches the sources on for the duration of the request. The agent leaves if it was not there
// before. A process may end meanwhile: its rings outlive it.
Result<> listen_to_agent(const ListenRequest& request, std::uint32_t sources,
                         const TakeRecord& take, const FinishListening& finish);

// What a counter makes of the records of one source.
template <class Seen, class Counter>
Result<Seen> hear(const ListenRequest& request, std::uint32_t source) {
  Counter counter;
  Seen seen;
  TRY(listen_to_agent(
      request, source, [&](const void* bytes, std::uint32_t size) { counter.take(bytes, size); },
      [&](const collect::AgentArena& arena, Heard heard) {
        seen.pid = heard.pid;
        seen.duration = heard.duration;
        seen.dropped = std::move(heard.dropped);
        seen.callback_time = heard.callback_time;
        counter.fill(arena, seen);
      }));
  return seen;
}

std::vector<AgentDrop> drops_of(const collect::AgentArena& arena);

}  // namespace clrscope::ops
