// A folder of ours in the file system of another process: in its own temporary folder, below
// /proc/PID/root, owned by its user and closed to others.
//
// The process may be hostile and we may be root: everything is made, opened and removed with the
// rights of its user (base/target_rights.h), and no link that it could have put there is followed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/target_rights.h"

namespace clrscope::ops {

class TargetFolder {
 public:
  // The folder of this name in the temporary folder of the process; made if `make`, else it is
  // kNotFound when it is not there.
  static Result<TargetFolder> open(pid_t pid, const std::string& name, bool make);
  // A folder of a random name that was not there before.
  static Result<TargetFolder> make_new(pid_t pid);

  const std::string& path() const { return path_; }  // as the process sees it
  bool made() const { return made_; }                // by us, just now
  bool same_files() const { return same_files_; }    // the process sees the files we see
  bool same_user() const { return same_user_; }
  bool may_execute() const;  // not mounted noexec

  // Anew, whatever was there; for the process' user only.
  Result<> write(const std::string& name, Bytes bytes, mode_t mode = 0600) const;
  // Whoever opens `to` sees the old file or the new one, never a part.
  Result<> rename(const std::string& from, const std::string& to) const;
  Result<std::string> read(const std::string& name, std::size_t limit) const;
  // For reading: a regular file of the process' user, not a link to one.
  Result<UniqueFd> open_file(const std::string& name) const;
  std::uint64_t size_of(const std::string& name) const;  // 0 when it is not there
  Result<std::vector<std::string>> list() const;
  void remove(const std::string& name) const;
  // Succeeds when it is empty.
  void remove_folder() const;
  // A socket of the process' user, to be connected to as /proc/self/fd/N.
  Result<UniqueFd> find_socket(const std::string& name) const;

 private:
  TargetFolder() = default;
  static Result<TargetFolder> open_in(pid_t pid, const std::string& parent, const std::string& name,
                                      bool make);
  Result<UniqueFd> find(const std::string& name, mode_t type) const;

  std::string path_;
  std::string name_;
  UniqueFd parent_;
  UniqueFd folder_;
  TargetRights rights_;
  bool made_ = false;
  bool same_files_ = false;
  bool same_user_ = false;
};

}  // namespace clrscope::ops
