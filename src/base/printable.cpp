#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace clrscope {
namespace {

bool is_line_break(char c) { return c == '\n' || c == '\t'; }

// A character that could make a terminal do something, or make text look like other text.
bool commands(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

char32_t decode(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t c = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) c = c << 6 | (byte(i) & 0x3fU);
  return c;
}

template <class Keep>
std::string escaped(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    std::size_t plain = 0;
    while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7f) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return out;
    const auto length = utf8_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    const auto c = length == 0 ? U'\ufffd' : decode(character);
    if (length != 0 && (keep(text.front()) || !commands(c)))
      out += character;
    else
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(c));
    text.remove_prefix(character.size());
  }
}

}  // namespace

bool commands_terminal(std::string_view character) { return commands(decode(character)); }

std::string printable(std::string_view text) {
  return escaped(text, [](char) { return false; });
}

std::string printable_lines(std::string_view text) { return escaped(text, is_line_break); }

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string cut_utf8(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace clrscope
