// The garbage collector's own table for debuggers: where its variables lie. Internal to the room.
//
// Found by content behind `g_dacTable`, which every runtime exports; the order of its entries is
// versioned by the collector. .NET 8, 9 and 10, workstation and server, regions and segments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/target.h"
#include "model/heap.h"

namespace clrscope::inspect {

// The address of the 32-bit count that is not 0 while a collection moves or marks things, so that
// the heap cannot be walked. kNotFound when there is no runtime, or none that we know.
Result<std::uint64_t> find_gc_invalid_counter(Target& target);

struct HeapRange {
  std::uint64_t start = 0, end = 0;
};
// What is in use of the pinned object heap. Nothing in it ever moves, and it has the arrays that
// hold every static field that is a reference.
Result<std::vector<HeapRange>> find_pinned_heap(Target& target);

struct GcSegment {
  std::uint64_t start = 0, end = 0;  // what is in use of it: the first object begins at `start`
  std::uint64_t committed = 0;       // bytes
  HeapGeneration generation = HeapGeneration::kUnknown;
  std::uint32_t heap = 0;
};
struct GcState {
  bool server = false;
  bool regions = false;               // else segments, the young generations together in one
  std::uint32_t collecting = 0;       // not 0: the heap cannot be walked
  std::vector<GcSegment> segments{};  // in ascending order, none in another
  // Where the next objects will be: from a place on that is an object's end there is nothing up to
  // the second address and an object's least size more.
  std::vector<HeapRange> contexts{};
  std::uint64_t handle_tables = 0;          // the first map of buckets; 0: unknown
  std::uint32_t heaps = 1;                  // of which each has a handle table in a bucket
  std::vector<std::uint64_t> finalizers{};  // a queue for each heap
  std::vector<std::string> notes{};         // what made no sense, a line each
};
Result<GcState> read_gc_state(Target& target);

}  // namespace clrscope::inspect
