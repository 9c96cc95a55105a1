#include "gcdump/encoding.h"

#include <algorithm>

namespace clrscope::gcdump {

void put_text(ByteWriter& out, std::string_view utf8) {
  if (std::ranges::all_of(utf8, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    out.write(static_cast<std::int32_t>(utf8.size()));
    return out.put(utf8);
  }
  const auto units = utf16_of(utf8);
  out.write(static_cast<std::int32_t>(units.size()));
  const auto put = [&](unsigned byte) { out.write(static_cast<std::uint8_t>(byte)); };
  for (const unsigned unit : units) {
    if (unit < 0x80) {
      put(unit);
    } else if (unit < 0x800) {
      put(0xc0 | unit >> 6), put(0x80 | (unit & 0x3f));
    } else {
      put(0xe0 | unit >> 12), put(0x80 | (unit >> 6 & 0x3f)), put(0x80 | (unit & 0x3f));
    }
  }
}

std::string take_text(ByteReader& in) {
  const auto length = in.read<std::int32_t>();
  if (length <= 0) return {};
  const auto units = static_cast<std::size_t>(length);
  if (units > in.remaining()) {  // each unit has a byte at least
    in.fail();
    return {};
  }
  std::string plain;
  plain.reserve(units);
  std::vector<std::uint8_t> wide;  // UTF-16, from the first unit on that is no ASCII
  for (std::size_t i = 0; i < units && in.ok(); ++i) {
    unsigned unit = in.read<std::uint8_t>();
    if (unit >= 0x80) {
      const bool three = unit >= 0xe0;
      unit = three ? unit & 0xf : unit & 0x1f;
      for (int more = three ? 2 : 1; more > 0; --more)
        unit = unit << 6 | (in.read<std::uint8_t>() & 0x3fU);
      if (wide.empty())
        for (const char c : plain) wide.push_back(static_cast<std::uint8_t>(c)), wide.push_back(0);
      wide.reserve(2 * units);
    }
    if (wide.empty() && unit < 0x80) {
      plain += static_cast<char>(unit);
      continue;
    }
    wide.push_back(static_cast<std::uint8_t>(unit));
    wide.push_back(static_cast<std::uint8_t>(unit >> 8));
  }
  if (!in.ok()) return {};
  return wide.empty() ? plain : utf8_of(wide);
}

}  // namespace clrscope::gcdump
