// Makes the unwind table of a ReadyToRun image from its exception directory.
//
// Addresses of the table are RVAs. The codes are those of Windows x64, which crossgen writes on
// Linux too; they know prologues and bodies, not epilogues: see scan_epilogue(). Format: "x64
// exception handling" of the Windows documentation.
#pragma once

#include "symbols/pe.h"
#include "unwind/unwind_table.h"

namespace clrscope::unwind {

// Empty when the image has no exception directory.
UnwindTable make_r2r_table(const PeFile& image);
// Only the functions that hold one of these addresses (sorted).
UnwindTable make_r2r_table(const PeFile& image, std::span<const std::uint64_t> rvas);

// The rules that one UNWIND_INFO gives, put at `begin` on: also for what a JIT writes. `image`
// gives the bytes of chained infos; `begin` and `end` as given to the table. False when it makes no
// sense.
bool add_unwind_codes(UnwindTableBuilder& table, const PeFile* image, Bytes info,
                      std::uint64_t begin, std::uint64_t end);

// The rule at `offset` bytes into a function, from its UNWIND_INFO; for a JitUnwindInfo.
std::optional<UnwindRule> rule_of_unwind_codes(Bytes info, std::uint64_t offset);

}  // namespace clrscope::unwind
