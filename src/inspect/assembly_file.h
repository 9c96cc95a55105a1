// What an assembly's file says of how it was compiled. Reads bytes that may be hostile; does no
// I/O.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::inspect {

// True for what `dotnet build` makes without -c Release: the JIT must not optimize it.
Result<bool> is_debug_build(Bytes file);

}  // namespace clrscope::inspect
