// Which process has a number now: for those who ask again and again whether it is still the same.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/fd.h"

namespace clrscope {

struct ProcIdentity {
  char state = '?';               // as in /proc/PID/stat: R, S, …; Z: it has ended
  std::uint64_t start_ticks = 0;  // since boot; with the pid it identifies a process

  bool ended() const { return state == 'Z' || state == 'X'; }
};

// A descriptor of that process, and of no other that gets its number later; none where the kernel
// has none (before Linux 5.3), or when it is not that process.
UniqueFd open_process_fd(pid_t pid, std::uint64_t start_ticks);
// It is a zombie, or gone. Costs less than any file of /proc.
bool has_ended(const UniqueFd& process);

// Asks again and again whether a process has ended; it must exist when this is made.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t pid);
  bool has_come() const;

 private:
  pid_t pid_;
  UniqueFd process_;
};

// Nothing: there is no such process. Reads one small file, where proc_status() reads two.
std::optional<ProcIdentity> proc_identity(pid_t pid);

}  // namespace clrscope
