// The garbage collector's own table for debuggers: where its variables lie. Internal to the room.
//
// Found by content behind `g_dacTable`, which every runtime exports; the order of its entries is
// versioned by the collector. .NET 8, 9 and 10.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// The address of the 32-bit count that is not 0 while a collection moves or marks things, so that
// the heap cannot be walked. kNotFound when there is no runtime, or none that we know.
Result<std::uint64_t> find_gc_invalid_counter(Target& target);

struct HeapRange {
  std::uint64_t start = 0, end = 0;
};
// What is in use of the pinned object heap. Nothing in it ever moves, and it has the arrays that
// hold every static field that is a reference. Workstation and server collectors.
Result<std::vector<HeapRange>> find_pinned_heap(Target& target);

}  // namespace clrscope::inspect
