#include "ipc/discover.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/io.h"
#include "base/text.h"
#include "ipc/app_name.h"
#include "ipc/mapped_file.h"
#include "ipc/socket_folder.h"
#include "ipc/target_socket.h"

namespace clrscope::ipc {
namespace {

using Environment = std::map<std::string, std::string>;

// The runtime names its threads ".NET SynchManag", ".NET EventPipe", ".NET Finalizer" … and starts
// them first. Anybody may read these names, even of processes whose maps are hidden.
enum class RuntimeThreads { kNone, kFound, kHidden };
RuntimeThreads find_runtime_threads(pid_t pid) {
  constexpr int kLookedAt = 8;
  const auto folder = fmt::format("/proc/{}/task", pid);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0)
    return errno == EPERM || errno == EACCES ? RuntimeThreads::kHidden : RuntimeThreads::kNone;
  if (info.st_nlink < 4)
    return RuntimeThreads::kNone;  // ".", ".." and one thread: no runtime is that small
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks{::opendir(folder.c_str()), ::closedir};
  if (!tasks) return RuntimeThreads::kNone;
  for (int seen = 0; seen < kLookedAt;) {
    const auto* task = ::readdir(tasks.get());
    if (!task) return RuntimeThreads::kNone;
    if (task->d_name[0] == '.') continue;
    ++seen;
    const auto name = read_file(fmt::format("{}/{}/comm", folder, task->d_name));
    if (name && name->starts_with(".NET ")) return RuntimeThreads::kFound;
  }
  return RuntimeThreads::kNone;
}

// Both lie in the folder of the runtime; the second is often mapped first.
std::optional<std::string> mapped_runtime(pid_t pid) {
  return mapped_file(pid, "libcoreclr.so", "libclrjit.so");
}

bool switched_off(const Environment& environment, const char* name) {
  for (const char* prefix : {"DOTNET_", "COMPlus_"})
    if (const auto found = environment.find(std::string{prefix} + name); found != environment.end())
      return parse_number(found->second) == 0U;
  return false;
}

class Finder {
 public:
  enum class Known { kRuntime, kSocketName };
  // Nothing when the process is gone by now.
  std::optional<DotnetProcess> describe(pid_t pid, Known known) {
    auto status = proc_status(pid);
    if (!status || status->state == 'Z' || status->state == 'X') return std::nullopt;
    DotnetProcess process;
    process.pid = pid;
    process.status = std::move(*status);
    if (auto line = proc_command_line(pid)) process.command_line = std::move(*line);
    process.name = app_name(proc_executable(pid).value_or(""), process.command_line);
    if (process.name.empty()) process.name = process.status.comm;
    process.user = user(process.status.uid);
    process.container = container_of(pid);
    if (const auto library = mapped_runtime(pid)) process.runtime = runtime_version_of(*library);
    const auto environment = proc_environment(pid);
    find_socket(process, environment ? *environment : Environment{}, known);
    process.unreachable = why_not(process, environment ? *environment : Environment{});
    return process;
  }

  // Processes that /proc hides from us (hidepid) and that have a socket in /tmp: only their pid and
  // owner are known.
  std::optional<DotnetProcess> describe_hidden(pid_t pid) {
    for (const auto& socket : folders_.in(tmp_.get())) {
      struct stat info {};
      if (socket.name.pid != pid ||
          ::fstatat(tmp_.get(), socket.file_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISSOCK(info.st_mode))
        continue;
      DotnetProcess process;
      process.pid = pid;
      process.name = "(hidden)";
      process.user = user(info.st_uid);
      process.status.uid = info.st_uid;
      process.status.namespace_pid = pid;
      process.socket = "/tmp/" + socket.file_name;
      process.unreachable = why_not(process, {});
      return process;
    }
    return std::nullopt;
  }

  // Every pid that a socket in /tmp is named after.
  std::set<pid_t> named_in_tmp() {
    std::set<pid_t> pids;
    for (const auto& socket : folders_.in(tmp_.get())) pids.insert(socket.name.pid);
    return pids;
  }

 private:
  std::string user(uid_t uid) {
    auto& name = users_[uid];
    if (name.empty()) name = user_name(uid);
    return name;
  }

  void find_socket(DotnetProcess& process, const Environment& environment, Known known) {
    const auto found = environment.find("TMPDIR");
    auto folder = found == environment.end() || found->second.empty() ? "/tmp" : found->second;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (!folder.starts_with('/')) return;  // relative to a working folder it may have left
    temporary_ = folder;
    const auto theirs = open_target_folder(process.pid, folder);
    if (!theirs) return;
    // Its own name first: that needs no listing, which may be older than a process just started.
    const auto& status = process.status;
    auto name = socket_file_name({status.namespace_pid, status.start_ticks});
    if (known == Known::kSocketName || !open_socket_file(theirs->get(), name))
      name = choose_socket(
          theirs->get(), folders_.in(theirs->get()),
          {process.pid, status.namespace_pid, status.start_ticks, known == Known::kRuntime});
    if (name.empty()) return;
    // Told through the process's root when that is another folder than ours of the same name.
    process.socket = fmt::format("{}{}/{}", is_ours(*theirs, folder) ? "" : proc_root(process.pid),
                                 folder, name);
  }

  static bool is_ours(const UniqueFd& theirs, const std::string& folder) {
    struct stat one {
    }, other{};
    return ::fstat(theirs.get(), &one) == 0 && ::stat(folder.c_str(), &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
  }

  // Whether we may connect to it: asked of the file itself.
  static bool may_connect(const DotnetProcess& process) {
    const auto file = open_target_socket(process.pid, process.socket);
    if (!file) return false;
    const auto link = fmt::format("/proc/self/fd/{}", file->get());
    return ::faccessat(AT_FDCWD, link.c_str(), W_OK, AT_EACCESS) == 0;
  }

  Error why_not(const DotnetProcess& process, const Environment& environment) {
    const auto me = ::geteuid();
    if (!process.socket.empty() && may_connect(process)) return {};
    if (me != 0 && process.status.uid != me)
      return {Errc::kDenied, fmt::format("owned by {}, you are {}", process.user, user(me)),
              process.status.uid == 0
                  ? "run clrscope as root (sudo)"
                  : fmt::format("run clrscope as {}, or as root (sudo)", process.user)};
    if (!process.socket.empty())
      return {Errc::kDenied, fmt::format("no permission to open {}", process.socket),
              "run as the user that owns it, or as root"};
    for (const char* name : {"EnableDiagnostics", "EnableDiagnostics_IPC"})
      if (switched_off(environment, name))
        return {Errc::kUnsupported, fmt::format("diagnostics are off (DOTNET_{}=0)", name),
                fmt::format("restart it without DOTNET_{}=0", name)};
    constexpr std::size_t kLongestFolder = 60;  // the runtime puts folder and name into 107 bytes
    if (temporary_.size() > kLongestFolder)
      return {Errc::kUnsupported,
              fmt::format("its TMPDIR is too long for a socket: {}", temporary_),
              "restart it with a shorter TMPDIR"};
    return {Errc::kNotFound, fmt::format("it has no diagnostic socket in {}", temporary_),
            "retry if it is just starting; otherwise diagnostics are off or the socket file was "
            "removed: restart it"};
  }

  const UniqueFd tmp_{::open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)};  // ours
  SocketFolders folders_;
  std::map<uid_t, std::string> users_;
  std::string temporary_ = "/tmp";  // of the process looked at last
};

std::string list_of(const std::vector<DotnetProcess>& processes) {
  std::string list;
  for (const auto& process : processes)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", process.name, process.pid);
  return list;
}

}  // namespace

Result<std::vector<DotnetProcess>> find_processes(const std::function<bool(pid_t)>& skip) {
  Finder finder;
  std::vector<DotnetProcess> processes;
  const auto keep = [&](std::optional<DotnetProcess> process) {
    if (process) processes.push_back(std::move(*process));
  };
  auto named = finder.named_in_tmp();
  for (const auto pid : TRY(all_pids())) {
    const bool has_socket = named.erase(pid) > 0;
    if (skip && skip(pid)) continue;
    const auto threads = find_runtime_threads(pid);
    if (threads == RuntimeThreads::kFound) {
      keep(finder.describe(pid, Finder::Known::kRuntime));
    } else if (has_socket) {
      auto process = threads == RuntimeThreads::kHidden
                         ? finder.describe_hidden(pid)
                         : finder.describe(pid, Finder::Known::kSocketName);
      if (process && !process->socket.empty()) keep(std::move(process));
    }
  }
  for (const auto pid : named)  // not even listed in /proc
    if (process_exists(pid)) keep(finder.describe_hidden(pid));
  std::ranges::sort(processes, {}, &DotnetProcess::pid);
  return processes;
}

Result<DotnetProcess> find_process(pid_t pid) {
  if (pid <= 0 || !process_exists(pid))
    return fail(Errc::kNotFound, "process {} does not exist", pid)
        .hint("clrscope ps lists the .NET processes");
  Finder finder;
  auto status = proc_status(pid);
  if (!status) {
    if (auto process = finder.describe_hidden(pid)) return std::move(*process);
    return fail(Errc::kDenied, "process {} is not visible to this user", pid)
        .hint("run as its owner, or as root");
  }
  // Runtimes before .NET 6 do not name their threads; a socket may be left from another process of
  // that pid.
  const bool sure = find_runtime_threads(pid) == RuntimeThreads::kFound || mapped_runtime(pid);
  if (sure || finder.named_in_tmp().contains(pid))
    if (auto process =
            finder.describe(pid, sure ? Finder::Known::kRuntime : Finder::Known::kSocketName);
        process && (sure || !process->socket.empty()))
      return std::move(*process);
  if (is_ending(pid))  // no mapping told what it was
    return fail(Errc::kNotFound, "process {} ({}) has ended", pid, status->comm)
        .hint("clrscope ps lists the .NET processes");
  return fail(Errc::kUnsupported, "process {} ({}) is not a .NET process", pid, status->comm)
      .hint("clrscope ps lists the .NET processes");
}

Result<DotnetProcess> find_process_named(const std::string& name) {
  auto all = TRY(find_processes());
  std::vector<DotnetProcess> matches;
  for (const auto& process : all)
    if (process.name == name) matches.push_back(process);
  if (matches.empty())
    return fail(Errc::kNotFound, "no .NET process is named {}", name)
        .hint("{}", all.empty() ? "no .NET process is running" : "running: " + list_of(all));
  auto reachable = matches;
  std::erase_if(reachable, [](const auto& process) { return !process.reachable(); });
  if (reachable.size() == 1) return std::move(reachable.front());
  if (matches.size() == 1) {
    auto& only = matches.front();
    return fail(Error{only.unreachable.code,
                      fmt::format("process {} ({}) is not reachable: {}", only.pid, only.name,
                                  only.unreachable.what),
                      only.unreachable.hint});
  }
  return fail(Errc::kUsage, "{} .NET processes are named {}", matches.size(), name)
      .hint("choose one with -p: {}", list_of(matches));
}

}  // namespace clrscope::ipc
