// A line of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace clrscope {

struct MapsLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  std::uint32_t major = 0;  // of the device
  std::uint32_t minor = 0;
  std::uint64_t inode = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  std::string_view path{};  // as the kernel writes it, a view into the line; empty when anonymous
};

std::optional<MapsLine> parse_maps_line(std::string_view line);

// A path of such a line with its newlines, which the kernel writes as \012.
std::string unescaped_maps_path(std::string_view path);

}  // namespace clrscope
