// Who waits for whom: from what each thread waits for to locks with their waiters, and to cycles.
//
// Pure: a Snapshot whose waits are filled in goes in and comes out with locks, holders and cycles.
#pragma once

#include "inspect/snapshot.h"

namespace clrscope::inspect {

// From threads' waiting_for and the runtime's monitors; thin locks are those that a thread was seen
// to hold without anybody waiting.
void add_locks(Snapshot& seen, const std::vector<SyncBlock>& monitors);

// Each waits for the next, the last for the first; begins with the lowest OS id.
std::vector<std::vector<std::uint32_t>> find_cycles(const Snapshot& seen);

}  // namespace clrscope::inspect
