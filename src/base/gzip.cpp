#include "base/gzip.h"

#include <zlib.h>

#include "base/result.h"

namespace clrscope {

std::string gzip(Bytes plain) {
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  char buffer[64 << 10];
  constexpr std::size_t kPiece = 1 << 30;  // zlib counts with 32 bits
  int state = Z_OK;
  do {
    const auto piece = plain.first(std::min(plain.size(), kPiece));
    plain = plain.subspan(piece.size());
    stream.next_in = const_cast<Bytef*>(piece.data());  // zlib does not write to it
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer);
      stream.avail_out = sizeof buffer;
      state = deflate(&stream, plain.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(buffer, sizeof buffer - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!plain.empty());
  CHECK(state == Z_STREAM_END);
  deflateEnd(&stream);
  return out;
}

}  // namespace clrscope
