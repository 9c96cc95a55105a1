// The file system rights of another process, and a scope in which this thread has no more than
// those.
//
// A target may be hostile and we may be root. What it asks us to open or make, by links and names
// of its choice, is opened and made with its own user, groups and capabilities, so that it gains
// nothing through us. Only file access changes: who may signal or trace us stays the same.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace clrscope {

struct TargetRights {
  uid_t uid = 0;  // fsuid
  gid_t gid = 0;  // fsgid
  std::vector<gid_t> groups{};
  std::uint64_t capabilities = 0;  // effective, as bits; only those that count in our namespace

  // Whether mode bits allow it, for a thread that cannot take these rights. `wanted`: 4 read, 1
  // search. Access control lists are not considered.
  bool allow(uid_t owner, gid_t group, mode_t mode, mode_t wanted) const;
};

// From the text of /proc/PID/status. `same_namespace`: the process has our user namespace;
// capabilities in another one mean nothing here.
Result<TargetRights> parse_target_rights(std::string_view status, bool same_namespace);
// `process`: a descriptor of /proc/PID.
Result<TargetRights> target_rights(int process, pid_t pid);

// Lowers the rights of this thread to those of the target until it goes out of scope.
class WithTargetRights {
 public:
  explicit WithTargetRights(const TargetRights& rights);
  ~WithTargetRights();
  WithTargetRights(const WithTargetRights&) = delete;
  WithTargetRights& operator=(const WithTargetRights&) = delete;

  // False: we may not become that user (CAP_SETUID, CAP_SETGID). The thread keeps its user, without
  // capabilities that the target does not have.
  bool is_target() const { return is_target_; }

 private:
  bool become(const TargetRights& rights);

  uid_t uid_;
  gid_t gid_;
  std::vector<gid_t> groups_;
  std::uint64_t capabilities_;
  bool changed_ = false;
  bool is_target_ = false;
};

}  // namespace clrscope
