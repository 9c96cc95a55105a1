#include "base/inflate.h"

#include <zlib.h>
#include <zstd.h>

namespace clrscope {
namespace {

constexpr std::uint64_t kLargest = 1 << 30;  // zlib counts in 32 bits
// Deflate makes at most 1,032 bytes of one; zstd more, but nobody's debug sections are that empty.
constexpr std::uint64_t kMostOfOne = 1040;

bool unzip(Bytes packed, int window_bits, std::vector<std::uint8_t>& out) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const auto code = ::inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return code == Z_STREAM_END && stream.avail_out == 0;
}

}  // namespace

Result<std::vector<std::uint8_t>> inflate_piece(Packing packing, Bytes packed,
                                                std::uint64_t plain_size) {
  if (packed.size() > kLargest || plain_size > kLargest ||
      plain_size > (packed.size() + 64) * kMostOfOne)
    return fail(Errc::kCorrupt, "{} compressed bytes claim to expand to {}", packed.size(),
                plain_size);
  std::vector<std::uint8_t> out(plain_size);
  bool whole = false;
  if (packing == Packing::kZstd)
    whole = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) == plain_size;
  else
    whole = unzip(packed, packing == Packing::kDeflate ? -15 : 15, out);
  if (!whole) return fail(Errc::kCorrupt, "{} compressed bytes are damaged", packed.size());
  return out;
}

}  // namespace clrscope
