#include "base/checksum.h"

#include <zlib.h>

namespace clrscope {

std::uint32_t crc32_of(Bytes bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(::crc32_z(before, bytes.data(), bytes.size()));
}

}  // namespace clrscope
