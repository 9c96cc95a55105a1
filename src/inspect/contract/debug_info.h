// From machine code to IL, as the JIT compiler left it in the runtime's memory. Of .NET 10; not in
// the descriptor: what does not fit is refused.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "symbols/il_map.h"

namespace clrscope::inspect {

// Where the parts lie: a byte of flags, what a patchpoint needs (when flag 1 is set), then the
// sizes of the two parts that follow.
inline constexpr std::size_t kMostDebugInfo = 64 << 10;

// Of jitted code. Empty when it makes no sense.
IlMap il_map_of_jitted(Bytes debug_info);
// Of ReadyToRun code, where the flags are missing.
IlMap il_map_of_ready_to_run(Bytes debug_info);

}  // namespace clrscope::inspect
