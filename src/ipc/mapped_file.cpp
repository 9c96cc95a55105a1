#include "ipc/mapped_file.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::ipc {
namespace {

// PROCMAP_QUERY of linux/fs.h, which headers older than 6.11 do not have.
struct MapQuery {
  std::uint64_t size = sizeof(MapQuery);
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t mapping_flags = 0;
  std::uint64_t page_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint32_t name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t name_address = 0;
  std::uint64_t build_id_address = 0;
};
static_assert(sizeof(MapQuery) == 104);
constexpr auto kMapQuery = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t kExecutable = 0x04;
constexpr std::uint64_t kThisOrNext = 0x10;
constexpr std::uint64_t kOfAFile = 0x20;

bool is_called(std::string_view path, std::string_view name) {
  return path.substr(path.rfind('/') + 1) == name;
}

}  // namespace

std::optional<std::string> mapped_file(pid_t pid, std::string_view name, std::string_view other) {
  constexpr int kMostMappings = 1 << 16;
  const auto maps = open_for_reading(fmt::format("/proc/{}/maps", pid));
  if (!maps) return std::nullopt;
  std::array<char, PATH_MAX> path{};
  std::uint64_t address = 0;
  for (int i = 0; i < kMostMappings; ++i) {
    MapQuery query;
    query.flags = kExecutable | kThisOrNext | kOfAFile;
    query.address = address;
    query.name_size = path.size();
    query.name_address = reinterpret_cast<std::uintptr_t>(path.data());
    if (::ioctl(maps->get(), kMapQuery, &query) != 0) {
      if (errno == ENOTTY || errno == EINVAL) return mapped_file_by_text(pid, name, other);
      return std::nullopt;  // ENOENT: no more of them
    }
    if (is_called(path.data(), name) || is_called(path.data(), other)) return path.data();
    address = query.end;
  }
  return std::nullopt;
}

std::optional<std::string> mapped_file_by_text(pid_t pid, std::string_view name,
                                               std::string_view other) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid));
  if (!maps) return std::nullopt;
  for (const auto line : split(*maps, '\n')) {
    const auto mode = line.find(' ');
    const auto slash = line.find('/');
    if (slash == std::string_view::npos || line.substr(mode + 3, 1) != "x") continue;
    const auto path = line.substr(slash);
    if (is_called(path, name) || is_called(path, other)) return std::string{path};
  }
  return std::nullopt;
}

}  // namespace clrscope::ipc
