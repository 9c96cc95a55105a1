// The heap of a process through its diagnostic port: the garbage collector walks it and sends what
// it sees as events.
//
// For a process whose memory cannot be read, and for heaps inside recordings. The runtime does a
// full blocking collection, and the process stands still until it is done: HeapSnapshot::pause
// says how long. Objects that nothing keeps alive are gone before the walk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "model/heap.h"
#include "ops/target.h"

namespace clrscope::ops {

struct PortHeapOptions {
  std::chrono::nanoseconds patience = std::chrono::seconds{120};  // for the whole collection
  std::uint32_t buffer_mb = 1024;  // in the target, at most; what does not fit is lost and counted
  std::span<const int> stop_fds{};
  std::function<void(std::uint64_t objects)> on_progress{};  // about five times a second
};

Result<HeapSnapshot> heap_from_port(const TargetRequest& target,
                                    const PortHeapOptions& options = {});

// The first heap walk in a recording, "-" for standard input.
Result<HeapSnapshot> heap_from_trace(const std::string& path);

}  // namespace clrscope::ops
