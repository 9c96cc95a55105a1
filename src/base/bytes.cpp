#include "base/bytes.h"

#include <algorithm>

namespace clrscope {
namespace {

constexpr char32_t kReplacement = 0xfffd;

void append_code_point(std::string& out, char32_t c) {
  const auto push = [&](char32_t unit) { out.push_back(static_cast<char>(unit)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xc0 | (c >> 6));
    push(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    push(0xe0 | (c >> 12));
    push(0x80 | ((c >> 6) & 0x3f));
    push(0x80 | (c & 0x3f));
  } else {
    push(0xf0 | (c >> 18));
    push(0x80 | ((c >> 12) & 0x3f));
    push(0x80 | ((c >> 6) & 0x3f));
    push(0x80 | (c & 0x3f));
  }
}

bool is_high(char32_t c) { return c >= 0xd800 && c < 0xdc00; }
bool is_low(char32_t c) { return c >= 0xdc00 && c < 0xe000; }

// Takes one code point from the front of `text`, which is not empty.
char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) {
    text.remove_prefix(1);
    return kReplacement;
  }
  char32_t c = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      text.remove_prefix(i);
      return kReplacement;
    }
    c = (c << 6) | (byte(i) & 0x3f);
  }
  text.remove_prefix(length);
  const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  return overlong || c > 0x10ffff || is_high(c) || is_low(c) ? kReplacement : c;
}

}  // namespace

namespace {

// Copies the leading ASCII units, at most `most`, and returns how many there were.
std::size_t copy_ascii(Bytes utf16, char* to, std::size_t most) {
  std::size_t count = 0;
  for (; count + 4 <= most; count += 4) {
    std::uint64_t units;
    std::memcpy(&units, utf16.data() + 2 * count, 8);
    if ((units & 0xff80ff80ff80ff80ULL) != 0) break;
    units |= units >> 8;  // each pair of bytes side by side
    const auto low = static_cast<std::uint32_t>(units & 0xffff);
    const auto high = static_cast<std::uint32_t>(units >> 32 & 0xffff);
    const auto four = low | high << 16;
    std::memcpy(to + count, &four, 4);
  }
  for (; count < most; ++count) {
    if (utf16[2 * count] >= 0x80 || utf16[2 * count + 1] != 0) break;
    to[count] = static_cast<char>(utf16[2 * count]);
  }
  return count;
}

}  // namespace

void append_utf8(std::string& out, Bytes utf16) {
  constexpr std::size_t kRun = 64;  // units tried at a time: mixed text must not cost its square
  const auto unit = [&](std::size_t i) {
    return static_cast<char32_t>(utf16[i] | utf16[i + 1] << 8);
  };
  while (utf16.size() >= 2) {
    const auto before = out.size();
    const auto most = std::min(utf16.size() / 2, kRun);
    out.resize(before + most);
    const auto copied = copy_ascii(utf16, out.data() + before, most);
    out.resize(before + copied);
    utf16 = utf16.subspan(2 * copied);
    if (copied == most) continue;
    char32_t c = unit(0);
    std::size_t taken = 2;
    if (is_high(c) && utf16.size() >= 4 && is_low(unit(2))) {
      c = 0x10000 + ((c - 0xd800) << 10) + (unit(2) - 0xdc00);
      taken = 4;
    } else if (is_high(c) || is_low(c)) {
      c = kReplacement;
    }
    append_code_point(out, c);
    utf16 = utf16.subspan(taken);
  }
}

std::string utf8_of(Bytes utf16) {
  std::string out;
  out.reserve(utf16.size() / 2);
  append_utf8(out, utf16);
  return out;
}

std::u16string utf16_of(std::string_view utf8) {
  std::u16string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const char32_t c = take_code_point(utf8);
    if (c < 0x10000) {
      out.push_back(static_cast<char16_t>(c));
    } else {
      out.push_back(static_cast<char16_t>(0xd800 + ((c - 0x10000) >> 10)));
      out.push_back(static_cast<char16_t>(0xdc00 + ((c - 0x10000) & 0x3ff)));
    }
  }
  return out;
}

}  // namespace clrscope
