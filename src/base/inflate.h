// Takes the compression off a piece of memory whose plain size is known beforehand.
//
// For parts of other files: an embedded PDB, a debug section. Hostile input: never makes more than
// the size that was said, and refuses a size that the input cannot hold.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

enum class Packing : std::uint8_t { kDeflate, kZlib, kZstd };  // kDeflate: without zlib's header

Result<std::vector<std::uint8_t>> inflate_piece(Packing packing, Bytes packed,
                                                std::uint64_t plain_size);

}  // namespace clrscope
