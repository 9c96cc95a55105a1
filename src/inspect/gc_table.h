// The garbage collector's own table for debuggers: where its variables lie. Internal to the room.
//
// Found by content behind `g_dacTable`, which every runtime exports; the order of its entries is
// versioned by the collector. .NET 8, 9 and 10.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// The address of the 32-bit count that is not 0 while a collection moves or marks things, so that
// the heap cannot be walked. kNotFound when there is no runtime, or none that we know.
Result<std::uint64_t> find_gc_invalid_counter(Target& target);

}  // namespace clrscope::inspect
