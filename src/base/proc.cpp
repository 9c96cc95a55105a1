#include "base/proc.h"

#include <dirent.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <optional>
#include <sstream>

#include "base/io.h"
#include "base/target_root.h"
#include "base/text.h"

namespace clrscope {
namespace {

std::string proc_path(pid_t pid, std::string_view entry) {
  return fmt::format("/proc/{}/{}", pid, entry);
}

Result<std::string> read_link(const std::string& path) {
  char target[PATH_MAX];
  const auto length = ::readlink(path.c_str(), target, sizeof target);
  if (length < 0) return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
  return std::string{target, static_cast<std::size_t>(length)};
}

std::uint64_t number_or_zero(std::string_view text) { return parse_number(text).value_or(0); }

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at < line.size();) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    const auto end = std::min(line.find_first_of(" \t", at), line.size());
    found.push_back(line.substr(at, end - at));
    at = end;
  }
  return found;
}

// The file has many more lines than these.
bool is_wanted(std::string_view key) {
  constexpr std::string_view kKeys[] = {"Name",  "State",   "Uid",      "NSpid",
                                        "VmRSS", "RssAnon", "TracerPid"};
  return std::ranges::find(kKeys, key) != std::end(kKeys);
}

void read_status_line(std::string_view key, std::string_view value, ProcStatus& status) {
  if (!is_wanted(key)) return;
  const auto fields = words(value);
  if (fields.empty()) return;
  if (key == "Name") status.comm = trim(value);
  if (key == "State") status.state = fields[0][0];
  if (key == "Uid" && fields.size() > 1) status.uid = static_cast<uid_t>(number_or_zero(fields[1]));
  if (key == "Uid" && fields.size() == status.users.size())
    std::ranges::transform(fields, status.users.begin(), [](std::string_view field) {
      return static_cast<uid_t>(number_or_zero(field));
    });
  if (key == "NSpid") status.namespace_pid = static_cast<pid_t>(number_or_zero(fields.back()));
  if (key == "VmRSS") status.rss_bytes = number_or_zero(fields[0]) * 1024;
  if (key == "RssAnon") status.anonymous_bytes = number_or_zero(fields[0]) * 1024;
  if (key == "TracerPid") status.tracer = static_cast<pid_t>(number_or_zero(fields[0]));
}

std::chrono::nanoseconds ticks(std::uint64_t count) {
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds{count * (1'000'000'000 / per_second)};
}

std::chrono::nanoseconds since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

std::vector<std::string> zero_separated(std::string_view text) {
  std::vector<std::string> parts;
  if (text.ends_with('\0')) text.remove_suffix(1);
  if (text.empty()) return parts;
  for (const auto part : split(text, '\0')) parts.emplace_back(part);
  return parts;
}

bool is_hex_id(std::string_view text) {
  return text.size() >= 32 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c); });
}

// Container engines name a cgroup after the container's id: "docker-<64 hex>.scope", "…/<64 hex>",
// "cri-containerd-<64 hex>".
std::string id_in_cgroup(std::string_view cgroups) {
  for (const auto line : split(cgroups, '\n')) {
    for (auto part : split(line, '/')) {
      if (part.ends_with(".scope")) part.remove_suffix(6);
      if (const auto dash = part.rfind('-'); dash != std::string_view::npos)
        part.remove_prefix(dash + 1);
      if (is_hex_id(part)) return std::string{part.substr(0, 12)};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<pid_t>> all_pids() {
  DIR* proc = ::opendir("/proc");
  if (!proc) return fail(errc_of(errno), "cannot list /proc: {}", errno_text());
  std::vector<pid_t> pids;
  while (const auto* entry = ::readdir(proc))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
      if (const auto pid = parse_number(entry->d_name)) pids.push_back(static_cast<pid_t>(*pid));
  ::closedir(proc);
  std::ranges::sort(pids);
  return pids;
}

Result<ProcStatus> proc_status(pid_t pid) {
  ProcStatus status;
  const auto text = TRY(read_file(proc_path(pid, "status")));
  for (const auto line : split(text, '\n'))
    if (const auto colon = line.find(':'); colon != std::string_view::npos)
      read_status_line(line.substr(0, colon), line.substr(colon + 1), status);
  if (status.namespace_pid == 0) status.namespace_pid = pid;

  const auto stat = TRY(read_file(proc_path(pid, "stat")));
  const auto end_of_name = stat.rfind(')');  // the name itself may hold blanks and brackets
  if (end_of_name == std::string::npos)
    return fail(Errc::kCorrupt, "/proc/{}/stat has no process name", pid);
  const auto fields =
      words(std::string_view{stat}.substr(end_of_name + 1));  // fields[0] is field 3 of proc(5)
  if (fields.size() < 20)
    return fail(Errc::kCorrupt, "/proc/{}/stat has {} fields", pid, fields.size());
  status.cpu = ticks(number_or_zero(fields[11]) + number_or_zero(fields[12]));
  status.threads = number_or_zero(fields[17]);
  status.start_ticks = number_or_zero(fields[19]);
  status.age = std::max(since_boot() - ticks(status.start_ticks), std::chrono::nanoseconds{0});
  return status;
}

namespace {

// The kernel's flags of a process that is there; nothing: it is gone, or a zombie.
std::optional<std::uint64_t> kernel_flags(pid_t pid) {
  const auto stat = read_file(proc_path(pid, "stat"));
  if (!stat) return std::nullopt;
  const auto end_of_name = stat->rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 2 >= stat->size()) return std::nullopt;
  // State, parent, group, session, terminal and its group, flags.
  std::istringstream fields{stat->substr(end_of_name + 2)};
  char state = '?';
  std::int64_t before = 0;
  std::uint64_t flags = 0;
  fields >> state >> before >> before >> before >> before >> before >> flags;
  if (state == 'Z' || state == 'X') return std::nullopt;
  return flags;
}

}  // namespace

bool has_ended(pid_t pid) { return !kernel_flags(pid); }

bool is_ending(pid_t pid) {
  constexpr std::uint64_t kExiting = 4;
  const auto flags = kernel_flags(pid);
  return !flags || (*flags & kExiting) != 0;
}

Result<std::vector<std::string>> proc_command_line(pid_t pid) {
  return zero_separated(TRY(read_file(proc_path(pid, "cmdline"))));
}

Result<std::map<std::string, std::string>> proc_environment(pid_t pid) {
  std::map<std::string, std::string> environment;
  for (const auto& entry : zero_separated(TRY(read_file(proc_path(pid, "environ")))))
    if (const auto equals = entry.find('='); equals != std::string::npos)
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  return environment;
}

std::string proc_root(pid_t pid) { return proc_path(pid, "root"); }

Result<std::string> proc_executable(pid_t pid) {
  auto path = TRY(read_link(proc_path(pid, "exe")));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

bool in_other_namespace(pid_t pid, const char* kind) {
  const auto theirs = read_link(proc_path(pid, fmt::format("ns/{}", kind)));
  const auto ours = read_link(fmt::format("/proc/self/ns/{}", kind));
  return theirs && ours && *theirs != *ours;
}

std::string container_of(pid_t pid) {
  if (!in_other_namespace(pid, "pid") && !in_other_namespace(pid, "mnt")) return {};
  const auto ours = read_file("/proc/self/cgroup");
  if (const auto cgroups = read_file(proc_path(pid, "cgroup")))
    if (auto id = id_in_cgroup(*cgroups); !id.empty() && (!ours || id != id_in_cgroup(*ours)))
      return id;
  constexpr std::size_t kLongestName = 256;
  if (const auto root = TargetRoot::open(pid); root && in_other_namespace(pid, "uts"))
    if (const auto name = root->read_file("/etc/hostname", kLongestName))
      if (const auto shown = trim(*name); !shown.empty()) return std::string{shown};
  return "private namespaces";
}

bool process_exists(pid_t pid) {
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);  // 0 and below mean groups to kill()
}

std::string user_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_name;
  return fmt::format("{}", uid);
}

}  // namespace clrscope
