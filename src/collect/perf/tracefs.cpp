#include "collect/perf/tracefs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.h"

namespace clrscope::collect::perf {
namespace {

constexpr std::size_t kLargestFormat = 64 << 10;
// The files within are for root and one group, whatever the mode of the folder.
constexpr const char* kReadHint =
    "run as root, or with CAP_PERFMON and CAP_DAC_READ_SEARCH, or give your group the right: "
    "mount -o remount,mode=750,gid=GROUP /sys/kernel/tracing";

UniqueFd open_folder(int at, const char* path) {
  return UniqueFd{::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

// The calls have no names in older C libraries.
UniqueFd mount_for_ourselves() {
  constexpr long kCreate = 6;  // FSCONFIG_CMD_CREATE
  constexpr long kCloseOnExec = 1;
  const UniqueFd context{static_cast<int>(::syscall(SYS_fsopen, "tracefs", kCloseOnExec))};
  if (!context) return {};
  if (::syscall(SYS_fsconfig, context.get(), kCreate, nullptr, nullptr, 0) != 0) return {};
  return UniqueFd{static_cast<int>(::syscall(SYS_fsmount, context.get(), kCloseOnExec, 0))};
}

bool has_events(const UniqueFd& folder) {
  return folder && ::faccessat(folder.get(), "events", R_OK | X_OK, AT_EACCESS) == 0;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != "..";
}

Result<std::string> read_small(int folder, const std::string& path) {
  const UniqueFd fd{::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) {
    const auto number = errno;
    return fail(errc_of(number), "cannot read tracefs {}: {}", path, errno_text(number))
        .hint("{}", number == EACCES ? kReadHint : "");
  }
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto got = ::read(fd.get(), buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read tracefs {}: {}", path, errno_text());
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kLargestFormat) return fail(Errc::kCorrupt, "tracefs {} is too large", path);
  }
}

}  // namespace

Result<Tracefs> Tracefs::open() {
  auto folder = open_folder(AT_FDCWD, "/sys/kernel/tracing");
  const bool hidden = !folder && errno == EACCES;
  if (has_events(folder)) return Tracefs{std::move(folder), false};
  if (auto own = mount_for_ourselves(); has_events(own)) return Tracefs{std::move(own), true};
  const auto number = errno;
  if (auto old = open_folder(AT_FDCWD, "/sys/kernel/debug/tracing"); has_events(old))
    return Tracefs{std::move(old), false};
  if (hidden)
    return fail(Errc::kDenied, "tracefs is for root only: /sys/kernel/tracing: {}",
                errno_text(EACCES))
        .hint("{}", kReadHint);
  if (number == EPERM || number == EACCES)
    return fail(Errc::kDenied, "tracefs is not mounted, and mounting it is not permitted")
        .hint(
            "run as root, or with CAP_PERFMON after: "
            "mount -t tracefs -o mode=750,gid=GROUP tracefs /sys/kernel/tracing");
  return fail(Errc::kUnsupported, "this kernel has no tracefs: {}", errno_text(number))
      .hint("tracepoints need a kernel with CONFIG_FTRACE");
}

Result<TracepointFormat> Tracefs::format(std::string_view tracepoint) const {
  const auto colon = tracepoint.find(':');
  const auto system = tracepoint.substr(0, colon);
  const auto name =
      colon == std::string_view::npos ? std::string_view{} : tracepoint.substr(colon + 1);
  if (!is_plain_name(system) || !is_plain_name(name))
    return fail(Errc::kUsage, "invalid tracepoint name: {}", tracepoint)
        .hint("write system:name, such as sched:sched_switch");
  auto text = read_small(folder_.get(), fmt::format("events/{}/{}/format", system, name));
  if (!text && text.error().code == Errc::kNotFound)
    return fail(Errc::kNotFound, "this kernel has no tracepoint {}", tracepoint)
        .hint("run perf list tracepoint to list them");
  if (!text) return fail(std::move(text).error());
  auto format = TRY(parse_tracepoint_format(*text));
  format.system = system;
  return format;
}

Result<std::vector<std::string>> Tracefs::list(const std::string& path) const {
  auto folder = open_folder(folder_.get(), path.c_str());
  if (!folder) {
    const auto number = errno;
    return fail(errc_of(number), "cannot list tracefs {}: {}", path, errno_text(number));
  }
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory{::fdopendir(folder.get())};
  if (!directory) return fail(Errc::kSystem, "cannot list tracefs {}: {}", path, errno_text());
  (void)folder.release();  // the DIR owns it now
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(directory.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

Result<std::vector<std::string>> Tracefs::matching(std::string_view pattern) const {
  const auto colon = pattern.find(':');
  const auto system_pattern = pattern.substr(0, colon);
  const auto name_pattern =
      colon == std::string_view::npos ? std::string_view{"*"} : pattern.substr(colon + 1);
  std::vector<std::string> found;
  for (const auto& system : TRY(list("events"))) {
    if (!glob_match(system_pattern, system)) continue;
    const auto names = list("events/" + system);
    if (!names) continue;
    for (const auto& name : *names)
      if (glob_match(name_pattern, name)) found.push_back(fmt::format("{}:{}", system, name));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace clrscope::collect::perf
