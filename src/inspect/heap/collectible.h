// Objects of types that can be unloaded keep these alive: the collector has no field for that.
// Internal to heap/.
#pragma once

#include <span>
#include <vector>

#include "inspect/heap/method_tables.h"
#include "inspect/heap/object_index.h"
#include "inspect/heap/references.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

// From each such object to the LoaderAllocator of its type. `layouts` by number of type.
std::vector<ExtraEdge> edges_to_loaders(Target& target, RuntimeReader& reader,
                                        std::span<ObjectLayout* const> layouts,
                                        const HeapGraph& graph);

}  // namespace clrscope::inspect
