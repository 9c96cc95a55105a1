#include "inspect/headroom.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr auto kNoLimit = ~std::uint64_t{0};

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  const auto text = read_file(path, 4096);
  return text ? parse_number(trim(*text)).value_or(otherwise) : otherwise;
}

// The number after a key, "inactive_file 4096" or "RssAnon:   12 kB".
std::uint64_t value_of(std::string_view text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    auto rest = trim(line.substr(key.size()));
    rest = rest.substr(0, rest.find(' '));
    return parse_number(rest).value_or(0);
  }
  return 0;
}

std::uint64_t room_in(const std::string& folder, const char* limit, const char* usage) {
  const auto most = number_in(folder + limit, kNoLimit);
  if (most >= kNoLimit / 4) return kNoLimit;  // "max", or v1's way to say so
  auto used = number_in(folder + usage, 0);
  if (const auto stat = read_file(folder + "/memory.stat"))  // the cache gives way
    used -= std::min(used, value_of(*stat, "inactive_file "));
  return most - std::min(most, used);
}

}  // namespace

std::uint64_t cgroup_headroom(std::string_view cgroups, const std::string& root) {
  auto least = kNoLimit;
  for (const auto line : split(cgroups, '\n')) {
    const auto parts = split(line, ':');  // number, controllers, path
    if (parts.size() < 3) continue;
    const bool unified = parts[0] == "0" && parts[1].empty();
    const auto controllers = split(parts[1], ',');
    if (!unified && std::ranges::find(controllers, "memory") == controllers.end()) continue;
    std::string path{line.substr(parts[0].size() + parts[1].size() + 2)};
    for (;;) {  // every group above has a limit, too
      if (unified)
        least = std::min(least, room_in(root + path, "/memory.max", "/memory.current"));
      else
        least = std::min(least, room_in(root + "/memory" + path, "/memory.limit_in_bytes",
                                        "/memory.usage_in_bytes"));
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
  return least;
}

std::uint64_t own_memory(std::string_view status) { return value_of(status, "RssAnon:") * 1024; }

std::uint64_t memory_headroom(pid_t pid) {
  auto least = kNoLimit;
  if (const auto machine = read_file("/proc/meminfo"))
    least = value_of(*machine, "MemAvailable:") * 1024;
  if (const auto groups = read_file(fmt::format("/proc/{}/cgroup", pid)))
    least = std::min(least, cgroup_headroom(*groups, "/sys/fs/cgroup"));
  return least;
}

Result<TwinPrice> twin_price(pid_t pid) {
  constexpr std::uint64_t kAtLeast = 32 << 20;
  // Seen: 3 to 27 ms with up to 300 MB, on idle and busy machines.
  constexpr std::uint64_t kLeastMs = 3, kMostMs = 15;
  constexpr std::uint64_t kLeastMsPerGb = 15, kMostMsPerGb = 60;
  const auto own = own_memory(TRY(read_file(fmt::format("/proc/{}/status", pid))));
  const auto pause = [&](std::uint64_t ms, std::uint64_t per_gb) {
    return std::chrono::milliseconds{ms + own / 1'000'000 * per_gb / 1000};
  };
  return TwinPrice{.own = own,
                   .needed = own / 4 + kAtLeast,
                   .room = memory_headroom(pid),
                   .least_pause = pause(kLeastMs, kLeastMsPerGb),
                   .most_pause = pause(kMostMs, kMostMsPerGb)};
}

Result<> check_headroom(pid_t pid, const TwinPrice& price) {
  if (price.room >= price.needed) return {};
  return fail(Errc::kDenied,
              "cannot make a twin of process {}: {} of memory are left, {} may be needed", pid,
              format_bytes(price.room), format_bytes(price.needed))
      .hint("raise its memory limit, or use clrscope stacks -p {}, which needs no twin", pid);
}

}  // namespace clrscope::inspect
