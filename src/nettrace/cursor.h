// Reading packed rows at full speed: no bound is checked per value, so the caller makes sure that
// kMaxRowHeader bytes can be read before a row begins (PaddedTail, at a block's end).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace clrscope::nettrace {

constexpr std::size_t kMaxRowHeader = 96;  // the longest row header is 87 bytes

class Cursor {
 public:
  explicit Cursor(const std::uint8_t* at) : at_(at) {}

  const std::uint8_t* at() const { return at_; }
  bool ok() const { return ok_; }

  std::uint8_t byte() { return *at_++; }

  template <class T>
  T fixed() {
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  const std::uint8_t* skip(std::size_t count) {
    const auto* begin = at_;
    at_ += count;
    return begin;
  }

  std::uint32_t varuint32() { return static_cast<std::uint32_t>(varuint<5>()); }
  std::uint64_t varuint64() { return varuint<10>(); }

 private:
  template <unsigned MaxBytes>
  std::uint64_t varuint() {
    std::uint64_t value = *at_++;
    if (value < 0x80) [[likely]]
      return value;
    value &= 0x7f;
    for (unsigned i = 1; i < MaxBytes; ++i) {
      const std::uint64_t next = *at_++;
      value |= (next & 0x7f) << (7 * i);
      if (next < 0x80) return value;
    }
    ok_ = false;  // a number longer than any
    return 0;
  }

  const std::uint8_t* at_;
  bool ok_ = true;
};

// The last bytes of a block with zeros behind them, so that a row header may be read as anywhere
// else.
class PaddedTail {
 public:
  const std::uint8_t* fill(const std::uint8_t* from, std::size_t count) {
    bytes_.fill(0);
    std::memcpy(bytes_.data(), from, count < kMaxRowHeader ? count : kMaxRowHeader);
    return bytes_.data();
  }

 private:
  std::array<std::uint8_t, kMaxRowHeader> bytes_;
};

}  // namespace clrscope::nettrace
