// Writes the wire form of protocol buffers: fields by number, nothing else.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace clrscope {

class ProtoWriter {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    raw(value);
  }
  void boolean(std::uint32_t field, bool value) { varint(field, value ? 1 : 0); }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    append(value);
  }
  void number(std::uint32_t field, double value) {
    tag(field, 1);
    append(value);
  }
  void text(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    raw(value.size());
    out_ += value;
  }
  void message(std::uint32_t field, const ProtoWriter& inner) { text(field, inner.out_); }
  // Elements of a packed list, before it is put in with message().
  template <class T>
  void append(T value) {
    static_assert(sizeof value == 8);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof bytes);
  }
  void append_varint(std::uint64_t value) { raw(value); }

  bool empty() const { return out_.empty(); }
  void clear() { out_.clear(); }
  const std::string& bytes() const { return out_; }
  std::string take() && { return std::move(out_); }

 private:
  void tag(std::uint32_t field, std::uint32_t type) { raw(field << 3U | type); }
  void raw(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out_ += static_cast<char>(value | 0x80U);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

}  // namespace clrscope
