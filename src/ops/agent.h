// The agent in a process: attaches it, removes it, asks it, listens to it.
//
// The agent (libclrscope_agent.so, part of this program) is written into a private folder in the
// temporary folder of the process, attached over its diagnostic port, and its file removed at once;
// its control socket stays in that folder while it is loaded. It does nothing until somebody
// listens, and stops when that connection ends for whatever reason. See docs/agent.md
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"
#include "ops/target.h"

namespace clrscope::ops {

struct AgentAnswer {
  pid_t pid = 0;
  std::string name{};
  bool loaded = false;
  std::string mode{};      // "attached" or "start"
  std::string identity{};  // "main" or "notification-only"
  std::string runtime{};
  std::vector<std::string> sources{};
  std::vector<std::string> missing{};  // what this identity cannot do
  bool same_version = true;
  bool resident = false;  // it has measured methods and cannot leave
  std::uint32_t connections = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t bad_requests = 0;
  std::uint64_t refused_peers = 0;
};
const Shape& shape_of(const AgentAnswer*);

struct AgentAttached {
  AgentAnswer agent;
  bool already = false;
  std::chrono::nanoseconds took{};
};
struct AgentDetached {
  pid_t pid = 0;
  std::string name;
  bool was_loaded = false;
  std::chrono::nanoseconds took{};
};

// Attaching what is attached does nothing and says so. Where another profiler has the place of the
// main one, the agent is loaded beside it with fewer abilities.
Result<AgentAttached> attach_agent(const TargetRequest& target);
Result<AgentDetached> detach_agent(const TargetRequest& target);
Result<AgentAnswer> agent_status(const TargetRequest& target);
// Of all processes that have one.
Result<std::vector<AgentAnswer>> agents_loaded();

struct AgentDrop {
  std::string reason{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const AgentDrop*);

struct MethodCount {
  std::string method{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const MethodCount*);

struct ThrownType {
  std::string type{};
  std::uint64_t count = 0;
  std::uint64_t caught = 0;
  std::optional<std::chrono::nanoseconds> mean_to_catch{};
  std::optional<std::chrono::nanoseconds> longest_to_catch{};
  std::vector<MethodCount> thrown_in{};
  std::vector<MethodCount> caught_in{};
  std::vector<std::string> stack{};  // the most frequent one, innermost first
};
const Shape& shape_of(const ThrownType*);

struct AgentExceptions {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t exceptions = 0;  // all that were thrown
  std::uint64_t recorded = 0;    // those with a type and, mostly, a stack
  std::vector<ThrownType> by_type{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
const Shape& shape_of(const AgentExceptions*);
Document exceptions_document(const AgentExceptions& seen);

struct LockOwner {
  std::uint32_t os_id = 0;
  std::uint64_t count = 0;
};
const Shape& shape_of(const LockOwner*);
struct ContentionSite {
  std::string method{};
  std::uint64_t count = 0;
  std::chrono::nanoseconds waited{};
  std::chrono::nanoseconds longest{};
  std::vector<LockOwner> owners{};  // threads that had the lock when a wait began, most first
  std::vector<std::string> stack{};
};
const Shape& shape_of(const ContentionSite*);
struct AgentContention {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t contentions = 0;
  std::uint64_t recorded = 0;
  std::chrono::nanoseconds waited{};
  std::vector<ContentionSite> sites{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
const Shape& shape_of(const AgentContention*);
Document contention_document(const AgentContention& seen);

struct AllocationSite {
  std::string method{};
  std::uint64_t bytes = 0;
};
const Shape& shape_of(const AllocationSite*);
struct AllocatedType {
  std::string type{};
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // an estimate
  std::vector<AllocationSite> sites{};
  std::vector<std::string> stack{};
};
const Shape& shape_of(const AllocatedType*);
struct AgentAllocations {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // an estimate
  std::vector<AllocatedType> types{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
const Shape& shape_of(const AgentAllocations*);
Document allocations_document(const AgentAllocations& seen);

struct SurvivorPlace {
  std::string type{};
  std::string method{};
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // estimates, all of them
  std::uint64_t survived_one = 0;
  std::uint64_t survived_two = 0;
  std::uint64_t died = 0;
  std::vector<std::string> stack{};
};
const Shape& shape_of(const SurvivorPlace*);
struct AgentSurvivors {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t collections = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t survived_one = 0;
  std::uint64_t survived_two = 0;
  std::vector<SurvivorPlace> places{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};
};
const Shape& shape_of(const AgentSurvivors*);
Document survivors_document(const AgentSurvivors& seen);

struct AgentThread {
  std::uint32_t os_id = 0;
  std::vector<std::string> frames{};
};
const Shape& shape_of(const AgentThread*);
struct AgentStacks {
  pid_t pid = 0;
  std::chrono::nanoseconds pause{};
  std::uint32_t without_stack = 0;
  std::vector<AgentThread> threads{};
  std::vector<AgentDrop> dropped{};
};
const Shape& shape_of(const AgentStacks*);
Document agent_stacks_document(const AgentStacks& seen);

struct ListenRequest {
  TargetRequest target{};
  std::chrono::nanoseconds duration{};
  std::span<const int> stop_fds{};  // readable: end early
  // Where a command is left that the target names. It loads the agent when it starts.
  std::unique_ptr<Child>* child = nullptr;
};
// These attach the agent if it is not there, and remove it again then.
Result<AgentExceptions> agent_exceptions(const ListenRequest& request);
Result<AgentContention> agent_contention(const ListenRequest& request);
Result<AgentAllocations> agent_allocations(const ListenRequest& request);
Result<AgentSurvivors> agent_survivors(const ListenRequest& request);
Result<AgentStacks> agent_stacks(const TargetRequest& target);

// The library that was built into this program; empty when it was built without.
Bytes embedded_agent();
// What a process must find in its environment to load that file when it starts.
// `beside`: the process has a profiler of its own, which stays the main one.
std::map<std::string, std::string> agent_environment(const std::string& library,
                                                     bool beside = false);

}  // namespace clrscope::ops
