// Every object that a command allocates, and, where asked, what its collections move and its calls
// between managed and native code: counted from the start of its runtime by the agent.
#pragma once

#include "ops/agent_heap.h"

namespace clrscope::ops {

struct MethodCalls {
  std::string method{};
  std::uint64_t calls = 0;
};
const Shape& shape_of(const MethodCalls*);

struct AgentObjects {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t uncounted = 0;
  std::vector<HeapTypeSeen> types{};
  std::optional<std::uint64_t> moved_ranges{};
  std::optional<std::uint64_t> moved_bytes{};
  std::optional<std::vector<MethodCalls>> to_native{};
  std::optional<std::vector<MethodCalls>> to_managed{};
  std::vector<AgentDrop> dropped{};
  std::chrono::nanoseconds callback_time{};  // not counted for objects: see the price
};
const Shape& shape_of(const AgentObjects*);
Document objects_document(const AgentObjects& seen);

struct ObjectsRequest {
  ListenRequest listen{};
  bool moved = false;
  bool transitions = false;
};
Result<AgentObjects> agent_objects(const ObjectsRequest& request);

}  // namespace clrscope::ops
