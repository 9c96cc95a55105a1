// The bytes of a trace file or of standard input, in pieces, decompressed (zstd, gzip).
#pragma once

#include <chrono>
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

// What reading a trace of a stranger may cost; the error of one that costs more (kTooLarge) names
// the limit. 0: no limit.
struct TraceLimits {
  std::uint64_t bytes = 0;         // plain ones: what a compressed trace expands to
  std::chrono::nanoseconds cpu{};  // of the thread that reads
  std::uint64_t samples = 0;       // that formats and flame graphs keep in memory
  std::function<bool()> gone{};    // nobody waits for it any more: reading ends
};

// `path` "-" is standard input. An empty file is an error, and so is a folder.
Result<> read_trace_bytes(const std::string& path, const OnTraceBytes& on_bytes,
                          const OnTraceProgress& on_progress = {}, const TraceLimits& limits = {});

// The error of a trace with more samples than `limits` allow.
Result<> check_samples(const std::string& path, std::uint64_t samples, const TraceLimits& limits);

// "standard input" for "-".
std::string display_name(const std::string& path);

}  // namespace clrscope::ops
