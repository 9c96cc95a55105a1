// How numbers of a chunk become bytes: columns of varints, and columns of fixed width in planes
// (first the lowest byte of every number, then the next), which compress better.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "base/bytes.h"

namespace clrscope::store {

inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}
// a - b for a varint; any two numbers have one.
inline std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return zigzag(static_cast<std::int64_t>(a - b));
}
inline std::uint64_t read_zigzag(std::uint64_t value) {
  return static_cast<std::uint64_t>(unzigzag(value));
}
inline std::uint64_t read_difference(ByteReader& in) { return read_zigzag(in.read_varuint()); }

template <class T>
void put_planes(ByteWriter& out, const std::vector<T>& column) {
  if constexpr (std::is_integral_v<T>) {
    std::vector<std::uint8_t> plane(column.size());
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 8) {
      for (std::size_t i = 0; i < column.size(); ++i)
        plane[i] = static_cast<std::uint8_t>(std::uint64_t{column[i]} >> shift);
      out.put(Bytes{plane});
    }
  } else {
    out.put(Bytes{reinterpret_cast<const std::uint8_t*>(column.data()), column.size() * sizeof(T)});
  }
}

// Numbers one after the other, as schema 1 had them.
template <class T>
void take_plain(ByteReader& in, std::size_t count, std::vector<T>& column) {
  const auto bytes = in.take(count * sizeof(T));
  if (!in.ok() || bytes.empty()) return;
  column.resize(count);
  std::memcpy(column.data(), bytes.data(), bytes.size());
}

template <class T>
void take_planes(ByteReader& in, std::size_t count, std::vector<T>& column) {
  if constexpr (std::is_integral_v<T>) {
    const auto bytes = in.take(count * sizeof(T));
    if (!in.ok()) return;
    column.assign(count, 0);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      const auto* plane = bytes.data() + byte * count;
      // Most planes of times are zeros.
      if (count > 0 && plane[0] == 0 && std::memcmp(plane, plane + 1, count - 1) == 0) continue;
      for (std::size_t i = 0; i < count; ++i)
        column[i] = static_cast<T>(column[i] | static_cast<T>(T{plane[i]} << (8 * byte)));
    }
  } else {
    take_plain(in, count, column);
  }
}

}  // namespace clrscope::store
