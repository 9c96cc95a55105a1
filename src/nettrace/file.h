// The bytes of a trace file, plain or compressed, from a path, a pipe or standard input.
//
// The one place in this room that does I/O, so that every verb opens traces alike. Memory does not
// depend on the size of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "nettrace/reader.h"

namespace clrscope::nettrace {

struct FileEnd {
  std::uint64_t bytes = 0;  // of the file, as it is
  bool cut_short = false;   // the compression has no end: the file is not whole
};

// "-" is standard input. What on_bytes fails with ends it.
Result<FileEnd> read_trace_bytes(const std::string& path,
                                 const std::function<Result<>(Bytes)>& on_bytes);

// All of a file through a reader, finish() included. Messages name the file. A compressed file that
// was cut short, or damaged in the middle, is read up to there: the reader's summary says
// truncated.
Result<FileEnd> read_trace_file(const std::string& path, Reader& reader, const OnBatch& on_batch);

}  // namespace clrscope::nettrace
