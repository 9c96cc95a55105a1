// The bytes a .gcdump is made of: tags of its objects, numbers of its nodes, texts.
// For the files of this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace clrscope::gcdump {

constexpr std::string_view kSignature = "!FastSerialization.1";

enum Tag : std::uint8_t {
  kNull = 1,
  kReference = 2,  // then the place of an object before
  kBeginObject = 4,
  kEndObject = 6,
  kByte = 8,
  kInt16 = 9,
  kInt32 = 10,
  kInt64 = 11,
  kSkipRegion = 12,
  kText = 13,
  kBlob = 14,
};

constexpr std::int32_t kDumpVersion = 10;
constexpr std::int32_t kDumpReader = 8;  // the oldest reader that understands what we write
constexpr std::int32_t kMaxSize = 0x7fffffff;

constexpr std::string_view kDumpType = "GCHeapDump";
constexpr std::string_view kGraphType = "Graphs.MemoryGraph";
constexpr std::string_view kModuleType = "Graphs.Module";
constexpr std::string_view kHeapInfoType = "DotNetHeapInfo";
constexpr std::string_view kSegmentType = "GCHeapDumpSegment";
constexpr std::string_view kUndefined = "UNDEFINED";  // the type of a node that nobody described

// A number of a node: 7 bits a byte, the highest first, all but the last byte with 0x80; the
// highest of the first byte's 7 bits is the sign.
constexpr std::size_t kLongestNumber = 5;

inline std::size_t size_of_number(std::int32_t value) {
  const auto magnitude = static_cast<std::uint32_t>(value < 0 ? ~value : value);
  if (magnitude < 1U << 6) return 1;
  if (magnitude < 1U << 13) return 2;
  if (magnitude < 1U << 20) return 3;
  return magnitude < 1U << 27 ? 4 : 5;
}

inline std::uint8_t* put_number(std::uint8_t* at, std::int32_t value) {
  for (auto left = size_of_number(value); --left > 0;)
    *at++ = static_cast<std::uint8_t>((value >> (7 * left)) | 0x80);
  *at++ = static_cast<std::uint8_t>(value & 0x7f);
  return at;
}

// False when the number does not end before `end` or has more than five bytes.
inline bool take_number(const std::uint8_t*& at, const std::uint8_t* end, std::int32_t& value) {
  if (at == end) return false;
  auto byte = *at++;
  auto bits = static_cast<std::uint32_t>(byte & 0x7f);
  if ((byte & 0x40) != 0) bits |= ~0x7fU;
  for (std::size_t read = 1; (byte & 0x80) != 0; ++read) {
    if (at == end || read == kLongestNumber) return false;
    byte = *at++;
    bits = (bits << 7) + (byte & 0x7f);
  }
  value = static_cast<std::int32_t>(bits);
  return true;
}

// A text: the number of its UTF-16 units, then each unit in one to three bytes, the halves of a
// surrogate pair too.
void put_text(ByteWriter& out, std::string_view utf8);
std::string take_text(ByteReader& in);  // empty too where the file has no text

}  // namespace clrscope::gcdump
