// The objects of a heap by type, counted by the agent inside the process.
#pragma once

#include "ops/agent_counters.h"

namespace clrscope::ops {

struct HeapTypeSeen {
  std::string type{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
const Shape& shape_of(const HeapTypeSeen*);

struct HeapReferencesSeen {
  std::string from{};
  std::string to{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const HeapReferencesSeen*);

struct AgentHeap {
  pid_t pid = 0;
  std::string source{};  // "walk" or "events"
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds expected_pause{};
  std::chrono::nanoseconds pause{};
  std::uint64_t uncounted = 0;
  std::vector<HeapTypeSeen> types{};
  std::optional<std::vector<HeapReferencesSeen>> references{};
  std::vector<AgentDrop> dropped{};
};
const Shape& shape_of(const AgentHeap*);
Document agent_heap_document(const AgentHeap& seen, std::size_t rows);

// What the walk will cost, before it begins.
struct AgentHeapPrice {
  std::uint64_t bytes = 0;  // at most, of the heap
  std::chrono::nanoseconds pause{};
  bool by_events = false;  // a full garbage collection too
};

struct AgentHeapRequest {
  TargetRequest target{};
  bool references = false;
  std::chrono::nanoseconds longest_pause{
      std::chrono::seconds{2}};  // expected to take longer: refused
  std::function<void(const AgentHeapPrice&)> on_price{};
};
Result<AgentHeap> agent_heap(const AgentHeapRequest& request);

// About so long does the process stand still for a heap of this size, full of small objects.
std::chrono::nanoseconds expected_heap_pause(std::uint64_t bytes, bool by_events, bool references);

}  // namespace clrscope::ops
