// The cage in which a foreign library may run: after enter_sandbox() this process can compute, use
// memory up to a limit and talk over the descriptors it has. It cannot open a file, reach the
// network, start or signal a process, or get any right back; the kernel sees to that, not the
// library's good will. See docs/adr/0003-dac-worker.md
#pragma once

#include "base/result.h"

namespace clrscope::inspect::dac {

// The only name that can be "opened" afterwards: gives a copy of the descriptor that was handed to
// enter_sandbox().
inline constexpr char kLibraryPath[] = "/libmscordaccore.so";

// Called in a signal handler when foreign code asks for what no data access library needs; does not
// return.
using OnForbidden = void (*)(const char* what, const char* value);

// Whole or not at all: an error means that nothing foreign may be loaded.
Result<> enter_sandbox(int library, OnForbidden on_forbidden);

}  // namespace clrscope::inspect::dac
