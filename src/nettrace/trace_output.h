// Where the bytes of a recording go: a descriptor, as they are or compressed.
//
// A plain file ends with the mark that ends a trace at every instant, so that any reader takes it
// whatever happens to us: what is new is written behind the mark, and its first bytes replace the
// mark last. Pipes and compressed files get their mark at the end only. Compressed bytes wait for
// more of their kind, a second at most if tick() is called.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/compress.h"
#include "base/result.h"

namespace clrscope::nettrace {

enum class Packing { kPlain, kZstd };

// Of the trace that is written: each version has a mark of its own.
enum class TraceVersion { kV4, kV6 };

class TraceOutput {
 public:
  TraceOutput(int fd, Packing packing, TraceVersion version);

  Result<> write(Bytes blocks);  // whole ones; no block is shorter than the mark
  Result<> tick();               // from time to time
  Result<> finish();             // nothing follows
  Result<> finish_early();       // nor did the trace's own end come
  std::uint64_t bytes() const { return bytes_ + (marked_ ? mark_.size() : 0); }  // in the file
  bool packed() const { return compressor_.has_value(); }

 private:
  Result<> put(Bytes bytes);
  Result<> put_behind_mark(Bytes blocks);
  Result<> cut();  // what lies behind bytes()

  int fd_;
  Bytes mark_;
  std::optional<off_t> begin_;  // of the trace in a file where any place can be written
  bool marked_ = false;         // the mark lies behind bytes_
  std::optional<Compressor> compressor_;
  TraceTime flushed_;
  bool waiting_ = false;  // bytes that the file does not have yet
  std::uint64_t bytes_ = 0;
};

}  // namespace clrscope::nettrace
