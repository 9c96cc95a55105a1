// The checksum of gzip and PNG: tells damaged bytes from whole ones, not against forgers.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace clrscope {

// `before`: of the bytes that came before these.
std::uint32_t crc32_of(Bytes bytes, std::uint32_t before = 0);

}  // namespace clrscope
