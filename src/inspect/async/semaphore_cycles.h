// Async methods that wait for each other by semaphores.
//
// A SemaphoreSlim does not tell who holds it. A method is taken for a holder when it is past its
// first await and its state machine leads to the semaphore, or it is a method of the class that has
// it in a static field. A cycle counts only when everyone who may hold its semaphores waits in it.
#pragma once

#include <vector>

#include "inspect/async/async.h"
#include "inspect/async/task_objects.h"

namespace clrscope::inspect {

std::vector<AsyncCycle> semaphore_cycles(HeapView& heap, TaskObjects& tasks,
                                         const AsyncSnapshot& seen);

}  // namespace clrscope::inspect
