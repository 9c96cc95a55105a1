// Where a recording is written, and what is in the file when it is finished.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "collect/eventpipe/rewrite.h"
#include "nettrace/trace_output.h"

namespace clrscope::collect {

struct RecordingFile {
  std::string path{};    // "-": standard output
  std::string folder{};  // for temporary files
  int fd = -1;           // open for writing, owned by the caller
  nettrace::Packing packing = nettrace::Packing::kPlain;
  std::optional<std::chrono::nanoseconds> last{};  // only the last seconds are kept
};

struct WrittenFile {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> events{};      // unset: all that were handed over
  std::optional<RewriteSummary> rewritten{};  // the trace was written again; its counts
  std::string reason{};                       // for rewriting it
};

}  // namespace clrscope::collect
