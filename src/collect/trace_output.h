// Where the bytes of a recording go: a descriptor, as they are or compressed.
//
// Compressed bytes wait for more of their kind, a second at most if tick() is called: what lies in
// the file by then can be read whatever happens to us.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/compress.h"
#include "base/result.h"

namespace clrscope::collect {

enum class Packing { kPlain, kZstd };

class TraceOutput {
 public:
  TraceOutput(int fd, Packing packing);

  Result<> write(Bytes bytes);
  Result<> tick();                                // from time to time
  Result<> finish();                              // nothing follows
  std::uint64_t bytes() const { return bytes_; }  // in the file
  bool packed() const { return compressor_.has_value(); }

 private:
  Result<> put(Bytes bytes);

  int fd_;
  std::optional<Compressor> compressor_;
  TraceTime flushed_;
  bool waiting_ = false;  // bytes that the file does not have yet
  std::uint64_t bytes_ = 0;
};

}  // namespace clrscope::collect
