// Call paths and self times of the spans of a chunk as a blob of pages: each its own zstd frame, so
// that some of the spans are read without the others.
#pragma once

#include "store/sqlite/chunk.h"

namespace clrscope::store {

std::string pack_stacks(const ChunkStacks& stacks, int zstd_level);

}  // namespace clrscope::store
