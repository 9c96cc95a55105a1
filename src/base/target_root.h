// Files of another process, looked up below its own root (/proc/PID/root).
//
// The process may be hostile and we may be root: links lead nowhere outside of its root, links of
// /proc are not followed, files are opened with its rights (base/target_rights.h), and only regular
// files are: nothing that blocks. Every file whose name a target chose is opened here. See
// docs/exposure.md.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/target_rights.h"

namespace clrscope {

class TargetRoot {
 public:
  static Result<TargetRoot> open(pid_t pid);
  // `process`: a descriptor of /proc/PID, lent.
  static Result<TargetRoot> open(int process, pid_t pid);
  // Our own root with the rights of the process, where /proc/PID/root may not be opened.
  static Result<TargetRoot> open_ours(pid_t pid);

  const TargetRights& rights() const { return rights_; }

  // For reading. `path` as the process names it: absolute.
  Result<UniqueFd> open_file(const std::string& path) const;
  // More than `limit` bytes is an error.
  Result<std::string> read_file(const std::string& path, std::size_t limit) const;
  // To reach what is in it (O_PATH).
  Result<UniqueFd> open_folder(const std::string& path) const;
  // A regular file that the process may execute.
  bool is_executable(const std::string& path) const;

  // How names are looked up: by one call of the kernel, or name by name where that is missing
  // (before Linux 5.6) or refused (filters of containers). For tests.
  enum class Lookup { kKernel, kByName };
  void look_up(Lookup how) { lookup_ = how; }

 private:
  TargetRoot(UniqueFd root, TargetRights rights, pid_t pid)
      : root_(std::move(root)), rights_(std::move(rights)), pid_(pid) {}
  Result<UniqueFd> find(const std::string& path, bool is_target) const;
  Result<UniqueFd> find_by_name(const std::string& path, bool is_target) const;

  UniqueFd root_;
  TargetRights rights_;
  pid_t pid_;
  Lookup lookup_ = Lookup::kKernel;
};

// Opens for reading what an O_PATH descriptor stands for, if it is a regular file. `shown` names it
// in messages.
Result<UniqueFd> open_found_file(const UniqueFd& found, const std::string& shown);

// Opens a regular file for reading and never waits for it. A path below "/proc/PID/root" is opened
// through TargetRoot, any other with our own rights.
Result<UniqueFd> open_regular_file(const std::string& path);

}  // namespace clrscope
