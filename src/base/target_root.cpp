#include "base/target_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>
#include <vector>

#include "base/io.h"
#include "base/text.h"

namespace clrscope {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own limit
constexpr mode_t kRead = 4;
constexpr mode_t kSearch = 1;

Failure cannot_open(const std::string& path, pid_t pid, int number) {
  return fail(errc_of(number), "cannot open {} of process {}: {}", path, pid, errno_text(number));
}

Result<UniqueFd> open_process(pid_t pid) {
  UniqueFd process{
      ::open(fmt::format("/proc/{}", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!process && errno == ENOENT) return fail(Errc::kGone, "process {} has ended", pid);
  if (!process) return fail(errc_of(errno), "cannot open /proc/{}: {}", pid, errno_text());
  return process;
}

// Opens what an O_PATH descriptor stands for: the file that was checked, whatever its name means by
// now.
UniqueFd reopen(const UniqueFd& found, int flags) {
  const auto link = fmt::format("/proc/self/fd/{}", found.get());
  return UniqueFd{::open(link.c_str(), flags | O_CLOEXEC)};
}

// Names still to be looked up, the next one last.
void push_names(std::vector<std::string>& names, std::string_view path) {
  const auto parts = split(path, '/');
  for (auto it = parts.rbegin(); it != parts.rend(); ++it)
    if (!it->empty() && *it != ".") names.emplace_back(*it);
}

struct PathInRoot {
  pid_t pid;
  std::string path;
};

// Of "/proc/12/root/etc/x": 12 and "/etc/x".
std::optional<PathInRoot> split_root(const std::string& path) {
  constexpr std::string_view kProc = "/proc/";
  constexpr std::string_view kRoot = "/root/";
  if (!path.starts_with(kProc)) return {};
  const auto slash = path.find('/', kProc.size());
  if (slash == std::string::npos || path.compare(slash, kRoot.size(), kRoot) != 0) return {};
  const auto word = path.substr(kProc.size(), slash - kProc.size());
  auto rest = path.substr(slash + kRoot.size() - 1);
  if (word == "self") return PathInRoot{::getpid(), std::move(rest)};
  const auto pid = parse_number(word);
  if (!pid || *pid == 0 || *pid > INT_MAX) return {};
  return PathInRoot{static_cast<pid_t>(*pid), std::move(rest)};
}

}  // namespace

Result<TargetRoot> TargetRoot::open(pid_t pid) { return open(TRY(open_process(pid)).get(), pid); }

Result<TargetRoot> TargetRoot::open_ours(pid_t pid) {
  const auto process = TRY(open_process(pid));
  UniqueFd root{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return fail(errc_of(errno), "cannot open /: {}", errno_text());
  auto rights = TRY(target_rights(process.get(), pid));
  return TargetRoot{std::move(root), std::move(rights), pid};
}

Result<TargetRoot> TargetRoot::open(int process, pid_t pid) {
  // The root with our own rights: the target's may not suffice to look at itself.
  UniqueFd root{::openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return fail(errc_of(errno), "cannot open /proc/{}/root: {}", pid, errno_text());
  auto rights = TRY(target_rights(process, pid));
  return TargetRoot{std::move(root), std::move(rights), pid};
}

Result<UniqueFd> TargetRoot::find(const std::string& path, bool is_target) const {
  // Without the target's rights each folder on the way is checked.
  if (lookup_ == Lookup::kByName || !is_target) return find_by_name(path, is_target);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd found{
      static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how))};
  if (found) return found;
  // EAGAIN: somebody renames folders meanwhile, and the kernel is not sure of "..".
  if (errno == ENOSYS || errno == EPERM || errno == EAGAIN) return find_by_name(path, is_target);
  return cannot_open(path, pid_, errno);
}

Result<UniqueFd> TargetRoot::find_by_name(const std::string& path, bool is_target) const {
  std::vector<UniqueFd> folders;  // below the root, so that ".." ends there
  std::vector<std::string> names;
  push_names(names, path);
  UniqueFd found;
  for (int links = 0; !names.empty();) {
    const auto name = std::move(names.back());
    names.pop_back();
    if (found) return cannot_open(path, pid_, ENOTDIR);
    if (name == "..") {
      if (!folders.empty()) folders.pop_back();
      continue;
    }
    const int folder = folders.empty() ? root_.get() : folders.back().get();
    struct stat status {};
    if (!is_target && ::fstat(folder, &status) == 0 &&
        !rights_.allow(status.st_uid, status.st_gid, status.st_mode, kSearch))
      return cannot_open(path, pid_, EACCES);
    UniqueFd next{::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!next || ::fstat(next.get(), &status) != 0) return cannot_open(path, pid_, errno);
    if (S_ISLNK(status.st_mode)) {
      char text[PATH_MAX];
      const auto size = ::readlinkat(next.get(), "", text, sizeof text);
      if (size < 0) return cannot_open(path, pid_, errno);
      if (++links > kMostLinks) return cannot_open(path, pid_, ELOOP);
      if (text[0] == '/') folders.clear();
      push_names(names, {text, static_cast<std::size_t>(size)});
    } else if (S_ISDIR(status.st_mode)) {
      folders.push_back(std::move(next));
    } else {
      found = std::move(next);
    }
  }
  if (found) return found;
  return folders.empty() ? reopen(root_, O_PATH) : std::move(folders.back());
}

Result<UniqueFd> TargetRoot::open_file(const std::string& path) const {
  const WithTargetRights scope{rights_};
  const auto found = TRY(find(path, scope.is_target()));
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return cannot_open(path, pid_, errno);
  if (!scope.is_target() && !rights_.allow(status.st_uid, status.st_gid, status.st_mode, kRead))
    return cannot_open(path, pid_, EACCES);
  return open_found_file(found, fmt::format("{} of process {}", path, pid_));
}

Result<std::string> TargetRoot::read_file(const std::string& path, std::size_t limit) const {
  const auto file = TRY(open_file(path));
  auto text = read_open_file(file.get(), limit);
  if (!text) return fail(text.error().code, "{} of process {}: {}", path, pid_, text.error().what);
  return text;
}

Result<UniqueFd> TargetRoot::open_folder(const std::string& path) const {
  const WithTargetRights scope{rights_};
  auto found = TRY(find(path, scope.is_target()));
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return cannot_open(path, pid_, errno);
  if (!S_ISDIR(status.st_mode)) return cannot_open(path, pid_, ENOTDIR);
  return found;
}

bool TargetRoot::is_executable(const std::string& path) const {
  const WithTargetRights scope{rights_};
  const auto found = find(path, scope.is_target());
  struct stat status {};
  return found && ::fstat(found->get(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 0111) != 0;
}

Result<UniqueFd> open_found_file(const UniqueFd& found, const std::string& shown) {
  struct stat status {};
  if (::fstat(found.get(), &status) != 0)
    return fail(errc_of(errno), "cannot open {}: {}", shown, errno_text());
  if (!S_ISREG(status.st_mode)) return fail(Errc::kUnsupported, "{} is not a regular file", shown);
  auto file = reopen(found, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", shown, errno_text());
  return file;
}

Result<UniqueFd> open_regular_file(const std::string& path) {
  if (const auto inside = split_root(path))
    return TRY(TargetRoot::open(inside->pid)).open_file(inside->path);
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  if (!S_ISREG(status.st_mode)) return fail(Errc::kUnsupported, "{} is not a regular file", path);
  return file;
}

}  // namespace clrscope
