// The managed thread pool, as its own objects tell it.
#pragma once

#include <optional>
#include <vector>

#include "inspect/objects.h"
#include "inspect/snapshot.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

// Found from the stack of a thread that works for the pool; nothing when there is none. `stacks`
// are in the order of the threads.
std::optional<Pool> find_pool(const Snapshot& seen, const std::vector<StackImage>& stacks,
                              Objects& objects);

// Items in a ConcurrentQueue; nothing when it is none.
std::optional<std::uint32_t> queue_length(Objects& objects, std::uint64_t queue);

}  // namespace clrscope::inspect
