// Makes the unwind table of an ELF file from its .eh_frame.
//
// Runs every call frame program once, to rows. Hostile input: a program that makes no sense ends in
// "nothing known" from there on. Format: DWARF 5 section 6.4.
#pragma once

#include "symbols/elf.h"
#include "symbols/elf_frames.h"
#include "unwind/unwind_table.h"

namespace clrscope::unwind {

// Empty when the file has no .eh_frame.
UnwindTable make_cfi_table(const ElfFile& file);
UnwindTable make_cfi_table(const ElfPiece& eh_frame);
UnwindTable make_cfi_table(const FrameRecords& records);
// Only the functions that hold one of these addresses (sorted), where the file has an index of
// them: a hundred addresses cost a hundredth of the whole.
UnwindTable make_cfi_table(const ElfFile& file, std::span<const std::uint64_t> vaddrs);

}  // namespace clrscope::unwind
