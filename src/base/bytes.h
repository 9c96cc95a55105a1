// Reading and writing little-endian bytes.
//
// A ByteReader never reads past its span: after a short read it returns zeros and stays failed, so
// a record is read in one go and ok() is asked once. It owns nothing; what it returns lives as long
// as the span it was given.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace clrscope {

static_assert(std::endian::native == std::endian::little, "records are read in place");

using Bytes = std::span<const std::uint8_t>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return offset_ == bytes_.size(); }
  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }
  void fail() { ok_ = false, offset_ = bytes_.size(); }

  template <class T>
  requires std::is_trivially_copyable_v<T> T read() {
    T value{};
    if (remaining() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  Bytes take(std::size_t count) {
    if (remaining() < count) {
      fail();
      return {};
    }
    const auto taken = bytes_.subspan(offset_, count);
    offset_ += count;
    return taken;
  }

  void skip(std::size_t count) { (void)take(count); }
  Bytes rest() { return take(remaining()); }

  // Unsigned LEB128, at most 64 bits.
  std::uint64_t read_varuint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if (shift == 63 && byte > 1) break;  // bits beyond the 64th
      return ok_ ? value : 0;
    }
    fail();
    return 0;
  }

  // UTF-16 code units up to a terminating zero, which is taken and not returned. The span may be
  // unaligned: decode it with utf8_of().
  Bytes take_utf16z() {
    for (std::size_t end = offset_; end + 2 <= bytes_.size(); end += 2) {
      if (bytes_[end] != 0 || bytes_[end + 1] != 0) continue;
      const auto text = bytes_.subspan(offset_, end - offset_);
      offset_ = end + 2;
      return text;
    }
    fail();
    return {};
  }

 private:
  Bytes bytes_;
  std::size_t offset_ = 0;
  bool ok_ = true;
};

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void write(T value) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof(T));
  }

  void put(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void put(std::string_view text) { put(as_bytes(text)); }

  void write_varuint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }

  // Overwrites what was written at an earlier offset, such as a size that is known late.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void patch(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }

  std::size_t size() const { return bytes_.size(); }
  Bytes bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }
  std::vector<std::uint8_t> take() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// UTF-16LE bytes (unaligned, odd tail ignored) to UTF-8; a lone surrogate becomes U+FFFD.
std::string utf8_of(Bytes utf16);
void append_utf8(std::string& out, Bytes utf16);

// UTF-8 to UTF-16 code units; a broken sequence becomes U+FFFD.
std::u16string utf16_of(std::string_view utf8);

}  // namespace clrscope
