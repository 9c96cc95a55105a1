// Which processes are shown: --allow and --owner of `serve`, and how a client selects one of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "model/process.h"

namespace clrscope::ops {

struct Visibility {
  std::vector<std::string> allow{};  // pids, or names with * and ?; empty: all
  std::optional<pid_t> owner{};      // only this one
  std::string owner_name{};          // its application; empty: none, or unknown

  // Whether anything is hidden at all.
  bool restricted() const { return owner || !allow.empty(); }
  // A process that is there, or that this serve looked at.
  bool shows(const Process& process) const;
  // What an earlier serve kept of a process. The owner's earlier lives are known by its name. What
  // is of no single process, the machine or an upload, is shown only where everything is.
  bool shows_earlier(const Process& process) const;
};

// Which one is meant.
struct Selector {
  std::optional<pid_t> pid{};
  std::optional<std::string> uid{};
  std::optional<std::string> name{};
  bool any() const { return pid || uid || name; }
  bool fits(const Process& process) const;
};

}  // namespace clrscope::ops
