#include "base/maps.h"

#include <algorithm>
#include <charconv>

namespace clrscope {
namespace {

// A number up to (and with) the separator that must follow.
template <class T>
bool take_number(std::string_view& text, int base, char separator, T& value) {
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || at == end || *at != separator) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return true;
}

}  // namespace

// "7f12a000-7f12b000 r-xp 00001000 fd:01 1234     /usr/lib/x.so"
std::optional<MapsLine> parse_maps_line(std::string_view line) {
  MapsLine m;
  if (!take_number(line, 16, '-', m.start) || !take_number(line, 16, ' ', m.end)) return {};
  if (m.end < m.start || line.size() < 5 || line[4] != ' ') return {};
  m.readable = line[0] == 'r';
  m.writable = line[1] == 'w';
  m.executable = line[2] == 'x';
  m.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(line, 16, ' ', m.offset) || !take_number(line, 16, ':', m.major) ||
      !take_number(line, 16, ' ', m.minor))
    return {};
  const auto inode_end = std::min(line.find(' '), line.size());
  const auto* const end = line.data() + inode_end;
  if (const auto [at, error] = std::from_chars(line.data(), end, m.inode);
      error != std::errc{} || at != end)
    return {};
  const auto path = line.find_first_not_of(' ', inode_end);
  if (path != std::string_view::npos) m.path = line.substr(path);
  return m;
}

std::string unescaped_maps_path(std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  std::string out;
  for (auto at = path.find(kNewline); at != std::string_view::npos; at = path.find(kNewline)) {
    out += path.substr(0, at);
    out += '\n';
    path.remove_prefix(at + kNewline.size());
  }
  return out.append(path);
}

}  // namespace clrscope
