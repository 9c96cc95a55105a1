// Takes the compression off a stream: zstd, gzip, or none, told by its first bytes.
//
// No I/O: bytes in, bytes out, in pieces of at most 256 KB, whatever the input claims. Frames may
// follow each other. One Decompressor belongs to one thread.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

class Decompressor {
 public:
  // A piece of plain bytes; lives until it returns. A stream that is not compressed goes through
  // uncopied, chunk by chunk.
  using OnBytes = std::function<Result<>(Bytes)>;

  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  Result<> feed(Bytes chunk, const OnBytes& on_bytes);
  // The end of the input. False when a compressed stream was cut short: what came out is all there
  // is.
  Result<bool> finish(const OnBytes& on_bytes);

  bool compressed() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope
