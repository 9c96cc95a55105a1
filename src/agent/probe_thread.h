// What the probes know of a thread, found by its thread pointer: nothing has to be set up or freed
// when threads begin and end. Only the thread itself touches its entry, but for `owner`.
#pragma once

#include "wire/probes.h"

namespace clrscope::agent {

struct alignas(64) ProbeThread {
  // The request and span that came with the ExecutionContext, and what was current before it.
  struct Flow {
    std::uint32_t request;  // number; 0: none
    std::uint32_t method;   // number of the counter + 1 of the async method; 0: none
    std::uint64_t span;
    std::uint64_t current;  // innermost span
  };
  static constexpr std::uint32_t kFlows = 12;

  std::atomic<std::uintptr_t> owner;  // thread pointer; 0: free
  std::uint64_t children;             // ticks in instrumented methods that the current one called
  wire::ProbeCounter* counters;
  std::uint32_t number;  // from 0, in the order in which threads were seen
  bool is_shared;        // several threads write these counters, and the same ring

  std::uint32_t os_id;
  std::uint32_t fault;  // SpanFlags of an exception that ends the current async method
  std::uint32_t last_request;
  std::uint32_t depth;       // of `outer`
  Flow flow;                 // that holds now
  std::uint64_t flow_begin;  // ticks
  std::uint64_t last_start;  // of a span
  Flow outer[kFlows];        // those that it replaced, for as long as it lasts
};

constexpr std::uint32_t kProbeThreads = 1 << 12;
extern ProbeThread* g_probe_threads;  // null until the probes are opened
ProbeThread* claim_probe_thread(std::uintptr_t self, std::uint32_t place);

inline std::uintptr_t thread_pointer() {
  std::uintptr_t value = 0;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

// Of the calling thread; null: there are too many threads. Safe in managed code.
inline ProbeThread* this_probe_thread() {
  const auto self = thread_pointer();
  const auto place = static_cast<std::uint32_t>((self * 0x9e37'79b9'7f4a'7c15ULL) >> 52);
  static_assert(kProbeThreads == 1U << (64 - 52));
  auto* thread = &g_probe_threads[place];
  if (thread->owner.load(std::memory_order_relaxed) == self) return thread;
  return claim_probe_thread(self, place);
}

}  // namespace clrscope::agent
