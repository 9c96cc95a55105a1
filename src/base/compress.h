// Puts zstd on a stream of bytes. No I/O: bytes in, bytes out. One Compressor belongs to one
// thread.
//
// After flush() all that came in can be read again from what came out, so that a file that is cut
// there, or anywhere after it, can be read up to there.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

class Compressor {
 public:
  using OnBytes = std::function<Result<>(Bytes)>;  // a piece lives until it returns

  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  Result<> add(Bytes bytes, const OnBytes& on_bytes);
  Result<> flush(const OnBytes& on_bytes);
  Result<> finish(const OnBytes& on_bytes);  // the end of the frame

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope
