// Reads a trace from a file or from standard input, compressed or not, and hands its batches over.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "nettrace/reader.h"
#include "ops/trace_bytes.h"

namespace clrscope::ops {

struct TraceVisitor {
  std::function<void(const nettrace::Reader&, const nettrace::Batch&)> on_batch;
  std::function<void(const nettrace::Reader&)> on_end;  // all of it was read
  std::function<Result<>()> on_chunk{};  // after each piece; its failure ends the reading
};

struct TraceRead {
  std::string path;
  nettrace::Summary summary{};
  std::vector<nettrace::Damage> damage{};  // the first pieces
  bool tells_loss = true;                  // else summary.lost means nothing
};

// `path` "-" is standard input. Fails for what is no trace; damage and a missing end do not fail.
Result<TraceRead> read_trace(const std::string& path, const TraceVisitor& visitor,
                             const OnTraceProgress& on_progress = {},
                             const TraceLimits& limits = {});

// One line on what could not be read, empty when all could: "a.nettrace: 2 damaged pieces …".
std::string damage_line(const TraceRead& read);

}  // namespace clrscope::ops
