// Reads and writes .gcdump: the heap files of dotnet-gcdump and PerfView.
//
// Does no I/O: bytes in, a heap out, and back. The file has no roots of its own: it has nodes that
// stand for groups of roots, which the writer makes and the reader turns back into roots.
// Format: docs/formats/gcdump.md
#pragma once

#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "model/heap.h"

namespace clrscope::gcdump {

// Whether a file that begins like this (64 bytes are enough) is a .gcdump, or claims to be one.
bool is_gcdump(Bytes beginning);

// `file` is the whole file, mapped or in memory. Memory is bounded by its size, whatever it claims.
// Fails for what is no .gcdump, for damage, and for a version that nobody knows.
Result<HeapSnapshot> read_gcdump(Bytes file);

// The pieces of the file, in order; a failure of `write` ends the writing and is returned.
using WriteBytes = std::function<Result<>(Bytes)>;
Result<> write_gcdump(const HeapSnapshot& heap, const WriteBytes& write);

}  // namespace clrscope::gcdump
