// Whole blocks of bytes, compressed at once: one zstd frame each, with its size and a checksum.
// Streams: base/compress.h.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

std::string zstd_block(Bytes plain, int level);

// `limit`: bytes that it may become; a block that claims more is refused before any memory is
// taken.
Result<std::string> read_zstd_block(Bytes block, std::uint64_t limit);

}  // namespace clrscope
