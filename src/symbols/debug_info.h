// From machine code to IL, as the JIT compiler wrote it down: in the runtime's memory (.NET 10; not
// in the descriptor: what does not fit is refused), or ahead of time in a ReadyToRun image.
//
// Reads bytes that may be hostile. Who finds them: inspect/contract, ready_to_run.h.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "symbols/il_map.h"

namespace clrscope {

inline constexpr std::size_t kMostDebugInfo = 64 << 10;

enum class BoundsCoding : std::uint8_t {
  kNibbles,  // each number by itself: images up to .NET 9
  kBits,     // columns of bits: .NET 10
};

// Of jitted code: a byte of flags, what a patchpoint needs (when flag 1 is set), then the sizes of
// the two parts that follow. Empty when it makes no sense.
IlMap il_map_of_jitted(Bytes debug_info);
// Of ReadyToRun code, where the flags are missing.
IlMap il_map_of_ready_to_run(Bytes debug_info, BoundsCoding coding = BoundsCoding::kBits);

}  // namespace clrscope
