// A folder of ours in the file system of another process: in its own temporary folder, below
// /proc/PID/root, owned by its user and closed to others.
//
// The process may be hostile and we may be root: nothing is followed that it could have put there,
// links in its file system lead nowhere outside of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ops {

class TargetFolder {
 public:
  // The folder of this name in the temporary folder of the process; made if `make`, else it is
  // kNotFound when it is not there.
  static Result<TargetFolder> open(pid_t pid, const std::string& name, bool make);

  const std::string& path() const { return path_; }  // as the process sees it
  bool made() const { return made_; }                // by us, just now
  bool same_files() const { return same_files_; }    // the process sees the files we see
  bool same_user() const { return same_user_; }
  bool may_execute() const;  // not mounted noexec

  // Anew, whatever was there; for the process' user only.
  Result<> write(const std::string& name, Bytes bytes, mode_t mode = 0600) const;
  Result<std::string> read(const std::string& name, std::size_t limit) const;
  Result<std::vector<std::string>> list() const;
  void remove(const std::string& name) const;
  // Succeeds when it is empty.
  void remove_folder() const;
  // How we reach a socket in it; short, whatever the folder's path.
  std::string reach(const std::string& name) const;

 private:
  TargetFolder() = default;

  std::string path_;
  std::string name_;
  UniqueFd parent_;
  UniqueFd folder_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  bool made_ = false;
  bool same_files_ = false;
  bool same_user_ = false;
};

}  // namespace clrscope::ops
