// Where the managed threads of a process spend their time, running or waiting: snapshots of all
// stacks by the agent, one to ten a second, fewer where they would pause the process for more than
// a hundredth of the time.
#pragma once

#include "ops/agent.h"

namespace clrscope::ops {

struct WallStack {
  double percent = 0;  // of the time of the thread, or of all threads
  std::chrono::nanoseconds time{};
  std::uint32_t threads = 0;
  std::vector<std::string> frames{};  // innermost first
};
const Shape& shape_of(const WallStack*);

struct WallThread {
  std::uint32_t os_id = 0;
  std::string name{};
  std::chrono::nanoseconds time{};  // while it was seen
  std::vector<WallStack> stacks{};
};
const Shape& shape_of(const WallThread*);

struct AgentWall {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t snapshots = 0;
  std::uint64_t refused = 0;  // snapshots that the runtime did not permit
  double per_second = 0;
  std::chrono::nanoseconds paused{};
  std::chrono::nanoseconds longest_pause{};
  double paused_percent = 0;
  std::vector<WallStack> stacks{};  // of all threads together, most time first
  std::vector<WallThread> threads{};
  std::vector<AgentDrop> dropped{};
};
const Shape& shape_of(const AgentWall*);
Document wall_document(const AgentWall& seen);

struct WallRequest {
  ListenRequest listen{};
  unsigned rate = 10;  // snapshots per second at most
};
Result<AgentWall> agent_wall(const WallRequest& request);

// How long to wait for the next snapshot after one that paused the process for so long: never less
// than the rate says, and a hundred times as long as the pause.
std::chrono::nanoseconds wall_interval(unsigned rate, std::chrono::nanoseconds pause);

}  // namespace clrscope::ops
