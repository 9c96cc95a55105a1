// What /proc shows of one process: mappings, threads, files. Internal to the room.
//
// Holds the process's own folder open: when the process has ended and its number was given to
// another, every call fails with kGone and never shows the other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// A thread's rip, rsp and system call, from the text of /proc/PID/task/TID/syscall.
void parse_syscall_file(std::string_view text, OsThread& thread);
// Name, state and CPU time, from the text of /proc/PID/task/TID/stat.
bool parse_thread_stat(std::string_view text, OsThread& thread);
// The last number of the line "NSpid:  12  1", and how many there are.
struct NamespaceIds {
  pid_t own = 0;
  std::size_t depth = 0;
};
NamespaceIds parse_namespace_ids(std::string_view status);
// The CPU time in the text of /proc/PID/task/TID/schedstat; nothing: it has none.
std::optional<std::chrono::nanoseconds> parse_schedstat(std::string_view text);

// Where a process has mapped a file, and which file that is.
struct FileMapping {
  std::uint64_t start = 0, end = 0;
  std::uint64_t inode = 0;
  std::uint32_t major = 0, minor = 0;  // of the device
  bool deleted = false;
};

class ProcView {
 public:
  static Result<ProcView> open(pid_t pid);

  pid_t pid() const { return pid_; }
  Result<std::vector<Mapping>> mappings() const;
  Result<std::vector<OsThread>> threads() const;
  // One of them, with its CPU time in clock ticks; nothing: it has ended. `nested`: the process is
  // in a pid namespace below ours.
  std::optional<OsThread> thread(pid_t id, bool nested) const;
  Result<bool> is_nested() const;
  Result<UniqueFd> open_file(const std::string& path) const;
  Result<std::vector<pid_t>> thread_ids() const;
  // The whole of a file below the process's folder.
  Result<std::string> read(const std::string& name) const;
  // The same of a file of a thread that the kernel gives in one piece: stat, schedstat, syscall,
  // wchan.
  Result<std::string> read_line(const std::string& name) const;

 private:
  ProcView(pid_t pid, UniqueFd folder) : pid_(pid), folder_(std::move(folder)) {}
  Failure unreadable(const std::string& name) const;
  Result<UniqueFd> open_below_root(const std::string& path) const;
  Result<> read_files() const;

  pid_t pid_;
  UniqueFd folder_;
  // Mapped files as of the last time one was asked for: /proc/PID/maps is dear to read. Reading
  // belongs to one thread.
  mutable std::unordered_map<std::string, FileMapping> files_;
};

}  // namespace clrscope::inspect
