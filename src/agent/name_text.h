// Text of a fixed size for names; what does not fit is cut. Compiles freestanding.
#pragma once

#include <cstdint>

namespace clrscope::agent {

class Text {
 public:
  void put(char letter) {
    if (size_ < sizeof bytes_) bytes_[size_++] = letter;
  }
  void put(const char* text) {
    while (*text != 0) put(*text++);
  }
  // UTF-8; halves of pairs become '?'.
  void put(const char16_t* text, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count && text[i] != 0; ++i) {
      std::uint32_t point = text[i];
      if (point >= 0xd800 && point < 0xdc00 && i + 1 < count && text[i + 1] >= 0xdc00 &&
          text[i + 1] < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (text[++i] - 0xdc00U);
      } else if (point >= 0xd800 && point < 0xe000) {
        point = '?';
      }
      put_point(point);
    }
  }
  const char* data() const { return bytes_; }
  std::uint32_t size() const { return size_; }

 private:
  void put_point(std::uint32_t point) {
    const auto byte = [&](std::uint32_t value) { put(static_cast<char>(value)); };
    if (size_ + 4 > sizeof bytes_) return;  // whole characters only
    if (point < 0x80) return byte(point);
    if (point < 0x800) {
      byte(0xc0 | (point >> 6));
    } else {
      if (point < 0x10000) {
        byte(0xe0 | (point >> 12));
      } else {
        byte(0xf0 | (point >> 18));
        byte(0x80 | ((point >> 12) & 0x3f));
      }
      byte(0x80 | ((point >> 6) & 0x3f));
    }
    byte(0x80 | (point & 0x3f));
  }

  char bytes_[1024];
  std::uint32_t size_ = 0;
};

}  // namespace clrscope::agent
