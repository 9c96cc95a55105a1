// A blob of a chunk: a byte with its layout and a zstd frame. Those of schema 1 are the frame
// alone.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/zstd_block.h"
#include "store/sqlite/columns.h"

namespace clrscope::store {

enum class BlobLayout : std::uint8_t {
  kPlain = 1,
  kPlanes = 2,
  kSampled = 3,   // of heads: with the number of samples; waiting is a difference
  kForetold = 4,  // of rests: steps are differences to what StepForecast says
};

inline std::string pack_blob(Bytes plain, int zstd_level, BlobLayout layout = BlobLayout::kPlanes) {
  return static_cast<char>(layout) + zstd_block(plain, zstd_level);
}

struct Blob {
  BlobLayout layout{};
  std::string plain{};
};

inline Result<Blob> unpack_blob(Bytes blob) {
  constexpr std::uint64_t kLargest = 1 << 30;
  for (const auto layout : {BlobLayout::kPlanes, BlobLayout::kSampled, BlobLayout::kForetold})
    if (!blob.empty() && blob[0] == static_cast<std::uint8_t>(layout))
      return Blob{layout, TRY(read_zstd_block(blob.subspan(1), kLargest))};
  return Blob{BlobLayout::kPlain, TRY(read_zstd_block(blob, kLargest))};
}

template <class T>
void take_column(BlobLayout layout, ByteReader& in, std::size_t count, std::vector<T>& column) {
  if (layout == BlobLayout::kPlain)
    take_plain(in, count, column);
  else
    take_planes(in, count, column);
}

}  // namespace clrscope::store
