#include "base/cgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/io.h"
#include "base/text.h"

namespace clrscope {
namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;  // version 1 writes a huge number

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = read_file(path, 4096);
  if (!text) return {};
  const auto number = parse_number(trim(*text));
  if (!number || *number >= kUnlimited) return {};
  return number;
}

template <class T>
void lower(std::optional<T>& limit, std::optional<T> by) {
  if (by && (!limit || *by < *limit)) limit = by;
}

std::optional<double> quota(std::optional<std::uint64_t> allowed,
                            std::optional<std::uint64_t> period) {
  if (!allowed || !period || *period == 0) return {};
  return static_cast<double>(*allowed) / static_cast<double>(*period);
}

// "50000 100000", "max 100000"
std::optional<double> quota_in(const std::string& path) {
  const auto text = read_file(path, 4096);
  if (!text) return {};
  const auto words = split(trim(*text), ' ');
  if (words.size() != 2) return {};
  return quota(parse_number(words[0]), parse_number(words[1]));
}

// The group's own folder and those above it, up to the mount.
template <class Visit>
void each_group(const std::string& mount, std::string path, Visit&& visit) {
  if (path.find("..") != std::string::npos) return;  // outside of what we see
  while (path.ends_with('/')) path.pop_back();
  for (;;) {
    visit(mount + path);
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

// Calls visit(controllers, path) for each line "4:cpu,memory:/a/b".
template <class Visit>
void each_membership(std::string_view membership, Visit&& visit) {
  for (const auto line : split(membership, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string path{line.substr(second + 1)};
    if (!path.starts_with('/')) continue;
    visit(line, split(line.substr(first + 1, second - first - 1), ','), path);
  }
}

// "inactive_file 4096" in memory.stat
std::uint64_t stat_of(const std::string& path, std::string_view name) {
  const auto text = read_file(path, 1 << 16);
  if (!text) return 0;
  for (const auto line : split(*text, '\n'))
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return parse_number(trim(line.substr(name.size()))).value_or(0);
  return 0;
}

}  // namespace

CgroupLimits cgroup_limits(std::string_view membership, const std::string& mount) {
  CgroupLimits limits;
  each_membership(membership,
                  [&](std::string_view line, const auto& controllers, const std::string& path) {
                    const auto has = [&](std::string_view name) {
                      return std::ranges::find(controllers, name) != controllers.end();
                    };
                    if (line.starts_with("0::"))
                      each_group(mount, path, [&](const std::string& folder) {
                        lower(limits.memory_bytes, number_in(folder + "/memory.max"));
                        lower(limits.processors, quota_in(folder + "/cpu.max"));
                      });
                    if (has("memory"))
                      each_group(mount + "/memory", path, [&](const std::string& folder) {
                        lower(limits.memory_bytes, number_in(folder + "/memory.limit_in_bytes"));
                      });
                    if (has("cpu"))
                      each_group(mount + "/cpu", path, [&](const std::string& folder) {
                        lower(limits.processors, quota(number_in(folder + "/cpu.cfs_quota_us"),
                                                       number_in(folder + "/cpu.cfs_period_us")));
                      });
                  });
  return limits;
}

CgroupLimits cgroup_limits(pid_t pid) {
  const auto membership = read_file(fmt::format("/proc/{}/cgroup", pid));
  return membership ? cgroup_limits(*membership, "/sys/fs/cgroup") : CgroupLimits{};
}

std::optional<std::uint64_t> cgroup_memory_use(std::string_view membership,
                                               const std::string& mount) {
  struct Files {
    std::string_view limit, use, cached;
  };
  constexpr Files kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                            "total_inactive_file"};
  constexpr Files kVersion2{"/memory.max", "/memory.current", "inactive_file"};
  std::optional<std::uint64_t> lowest, used;
  const auto look = [&](const std::string& folder, const Files& files) {
    const auto limit = number_in(folder + std::string{files.limit});
    if (!limit || (lowest && *lowest <= *limit)) return;
    lowest = limit;
    used = number_in(folder + std::string{files.use});
    if (used) *used -= std::min(*used, stat_of(folder + "/memory.stat", files.cached));
  };
  each_membership(
      membership, [&](std::string_view line, const auto& controllers, const std::string& path) {
        if (line.starts_with("0::"))
          each_group(mount, path, [&](const std::string& folder) { look(folder, kVersion2); });
        if (std::ranges::find(controllers, "memory") != controllers.end())
          each_group(mount + "/memory", path,
                     [&](const std::string& folder) { look(folder, kVersion1); });
      });
  return used;
}

std::optional<std::uint64_t> cgroup_memory_use(pid_t pid) {
  const auto membership = read_file(fmt::format("/proc/{}/cgroup", pid));
  return membership ? cgroup_memory_use(*membership, "/sys/fs/cgroup") : std::nullopt;
}

}  // namespace clrscope
