// Where the agent of a process lies, how it is loaded and how it is reached.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "collect/agent/connection.h"
#include "ops/target.h"
#include "ops/target_folder.h"

namespace clrscope::ops {

// kNotFound: no agent is loaded.
Result<collect::AgentConnection> reach_agent(pid_t pid);

struct LoadedAgent {
  collect::AgentConnection connection;
  bool already = false;  // it was there before
};
// Writes the library into a private folder, for a command that loads it when it starts. The folder
// goes with the object.
class PlacedAgent {
 public:
  static Result<PlacedAgent> place();
  PlacedAgent(PlacedAgent&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  PlacedAgent& operator=(PlacedAgent&&) = delete;
  ~PlacedAgent();
  std::string path() const;

 private:
  explicit PlacedAgent(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};
// Lets the suspended command run, and waits until its agent answers.
Result<collect::AgentConnection> start_agent(Target& target);
// Attaches the agent unless it is there, and waits until it answers.
Result<LoadedAgent> load_agent(Target& target);
// Returns when it has left the process. Its own files go with it.
Result<> unload_agent(collect::AgentConnection connection);

// Removes the agent at the end of a scope if it was loaded for it.
class AgentVisit {
 public:
  explicit AgentVisit(std::optional<LoadedAgent>& loaded) : loaded_(loaded) {}
  AgentVisit(const AgentVisit&) = delete;
  AgentVisit& operator=(const AgentVisit&) = delete;
  // A process that has ended, or does not answer, keeps an agent that does nothing.
  ~AgentVisit() {
    if (loaded_ && !loaded_->already) (void)unload_agent(std::move(loaded_->connection));
  }

 private:
  std::optional<LoadedAgent>& loaded_;
};

}  // namespace clrscope::ops
