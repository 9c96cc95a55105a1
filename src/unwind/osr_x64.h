// The caller of a method that was replaced on the stack while it ran (OSR).
//
// A method that loops begins in unoptimized code, which hands over to optimized code in the middle
// of a loop. The optimized code builds its frame below the old one and saves the caller's rbp once
// more. The word where a return address belongs points into the old code, so that a walk by rbp
// shows the method twice and skips its caller. Upwards from the new frame pointer:
//
//   rbp       the caller's rbp
//   rbp + 8   an address in the old code: where it handed over
//   rbp + 16  the old frame: as large as its prologue made it (lea rbp, [rsp + size])
//   … + size  the caller's rbp, as the old prologue pushed it
//   … + 8     the return address
//
// The same on .NET 8, 9 and 10.
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/unwinder.h"

namespace clrscope::unwind {

// Where the old frame keeps the caller's rbp, with the return address above it; nothing when `rbp`
// is an ordinary frame. `lowest` is where the code that rbp + 8 points into may begin.
std::optional<std::uint64_t> replaced_frame(std::uint64_t rbp, const StackCopy& stack,
                                            CodeBytes& code, std::uint64_t lowest);

}  // namespace clrscope::unwind
