// Counts strings with the same value in a walked heap. Internal to heap/.
#pragma once

#include <span>
#include <vector>

#include "inspect/heap/method_tables.h"
#include "inspect/target.h"
#include "model/heap.h"

namespace clrscope::inspect {

// Those that there is more than one of, most wasted bytes first. `layouts` by number of type.
std::vector<EqualStrings> count_equal_strings(Target& target,
                                              std::span<ObjectLayout* const> layouts,
                                              const HeapGraph& graph);

}  // namespace clrscope::inspect
