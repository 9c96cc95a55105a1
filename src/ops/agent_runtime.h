// What a runtime did by itself while we listened: collections, suspensions, threads, modules,
// classes and compiled methods, as the agent saw them.
#pragma once

#include "ops/agent_counters.h"
#include "wire/happenings.h"

namespace clrscope::ops {

struct SuspensionSeen {
  std::string reason{};
  std::chrono::nanoseconds at{};  // since the first thing that was recorded
  std::chrono::nanoseconds length{};
  std::chrono::nanoseconds to_stop{};
};
const Shape& shape_of(const SuspensionSeen*);

struct CompiledMethod {
  std::string method{};
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};
};
const Shape& shape_of(const CompiledMethod*);

struct ThreadsOfName {
  std::string name{};  // digits at the end are one *
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
};
const Shape& shape_of(const ThreadsOfName*);

struct AgentRuntime {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t collections = 0;
  std::vector<std::uint64_t> by_generation{};  // the oldest one collected: 0, 1, 2
  std::uint64_t induced = 0;
  std::uint64_t suspensions = 0;
  std::chrono::nanoseconds suspended{};
  std::vector<SuspensionSeen> longest{};
  std::uint64_t threads_started = 0;
  std::uint64_t threads_ended = 0;
  std::vector<ThreadsOfName> threads{};
  std::uint64_t modules_loaded = 0;
  std::vector<std::string> modules{};
  std::uint64_t classes_loaded = 0;
  std::uint64_t methods_compiled = 0;
  std::chrono::nanoseconds compile_time{};
  std::vector<CompiledMethod> slowest{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
const Shape& shape_of(const AgentRuntime*);
Document runtime_document(const AgentRuntime& seen);

Result<AgentRuntime> agent_runtime(const ListenRequest& request);

class RuntimeCounter {
 public:
  void take(const void* bytes, std::uint32_t size);
  void fill(const collect::AgentArena& arena, AgentRuntime& out) const;

 private:
  struct Compiled {
    std::uint64_t count = 0;
    std::uint64_t failed = 0;
    std::uint64_t ticks = 0;
    std::uint64_t longest = 0;
  };
  struct Change {
    std::uint64_t time = 0;
    wire::RecordKind kind{};
    std::uint64_t id = 0;
    std::string name{};
  };
  void take_thread(wire::RecordKind kind, const wire::ThreadChange& change);
  void take_suspension(const wire::Suspension& suspension);
  std::vector<ThreadsOfName> threads() const;

  std::uint64_t first_ = 0;  // time of the first record
  std::uint64_t generations_[3]{};
  std::uint64_t induced_ = 0;
  std::uint64_t suspended_ticks_ = 0;
  std::vector<wire::Suspension> longest_;
  std::vector<Change> changes_;
  std::vector<std::string> modules_;
  std::map<std::uint32_t, Compiled> methods_;
};

// "job-17" and "job-18" are both "job-*".
std::string name_of_many(std::string_view name);

}  // namespace clrscope::ops
