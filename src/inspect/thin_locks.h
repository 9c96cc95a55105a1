// Monitors that need no more than the object's header: nobody waits for them, and no table of the
// runtime knows them.
//
// Who is in `lock (x)` has x on its stack, to leave it in the end. So each stack is looked through
// for objects whose header names that very thread. What is not on the stack of its holder (entered
// by Monitor.Enter in a method that has returned) is not found: only a walk of the heap would.
#pragma once

#include <vector>

#include "inspect/objects.h"
#include "inspect/snapshot.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

// Of threads that stand still; `stacks` in the order of the threads. Sorted by object.
std::vector<Lock> find_thin_locks(const Snapshot& seen, const std::vector<StackImage>& stacks,
                                  Objects& objects);

}  // namespace clrscope::inspect
