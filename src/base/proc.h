// What /proc says of a process. Every call may find the process gone: that is an error like any
// other.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace clrscope {

// Enough of /proc/PID/status and /proc/PID/stat to name a process and its price.
struct ProcStatus {
  std::string comm;
  char state = '?';
  pid_t namespace_pid = 0;       // its pid in its own pid namespace
  uid_t uid = 0;                 // effective
  std::array<uid_t, 4> users{};  // real, effective, saved, file system; seen from our namespace
  std::uint64_t rss_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  // of them: not of files
  std::uint64_t start_ticks =
      0;  // since boot, in clock ticks; with the pid it identifies a process
  std::chrono::nanoseconds cpu{};
  std::chrono::nanoseconds age{};
  pid_t tracer = 0;  // who traces it; 0: nobody
  std::uint64_t threads = 0;
};

Result<std::vector<pid_t>> all_pids();
Result<ProcStatus> proc_status(pid_t pid);
// It is gone, or a zombie.
bool has_ended(pid_t pid);
// The same, or it is about to end: its memory may be gone already.
bool is_ending(pid_t pid);
Result<std::vector<std::string>> proc_command_line(pid_t pid);
Result<std::map<std::string, std::string>> proc_environment(pid_t pid);

// "/proc/PID/root": file names of the target are looked up below it, by base/target_root.h and
// never by a plain open().
std::string proc_root(pid_t pid);
// The link behind /proc/PID/exe, without " (deleted)".
Result<std::string> proc_executable(pid_t pid);
// True when the process lives in another namespace ("pid", "mnt", …) than we do; unreadable counts
// as the same.
bool in_other_namespace(pid_t pid, const char* kind);
// Short id or name of the container, from its cgroup path and host name; empty when it is in none.
std::string container_of(pid_t pid);

bool process_exists(pid_t pid);
std::string user_name(uid_t uid);

}  // namespace clrscope
