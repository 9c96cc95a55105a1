// The bytes of a trace file or of standard input, in pieces, for whoever reads them. Compression
// (zstd, gzip) is taken off.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::ops {

// A piece lives until it returns; its failure ends the reading.
using OnTraceBytes = std::function<Result<>(Bytes)>;
// After each piece of the file; `total` is 0 when its size is not known.
using OnTraceProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// `path` "-" is standard input. An empty file is an error, and so is a folder.
Result<> read_trace_bytes(const std::string& path, const OnTraceBytes& on_bytes,
                          const OnTraceProgress& on_progress = {});

// "standard input" for "-".
std::string display_name(const std::string& path);

}  // namespace clrscope::ops
