// Waits for a static constructor: a thread uses a type that another thread is initializing.
//
// The runtime waits in native code, on an entry of its list of types being initialized. The entry
// begins with the thread that initializes and names the type; a pointer to it lies on the waiting
// thread's stack. What is found must agree with the other thread's stack: the constructor runs
// there.
#pragma once

#include <optional>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {

// `scene.until`: the innermost managed frame.
std::optional<Wait> find_initializer_wait(const WaitScene& scene);

}  // namespace clrscope::inspect
