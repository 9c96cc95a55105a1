// The .NET processes of this machine for those who ask again and again: what was found out of a
// process is kept for some time, only its age, CPU and memory are read each time. Any thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/proc.h"
#include "base/result.h"
#include "model/process.h"

namespace clrscope::ops {

class ProcessBook {
 public:
  // As list_processes().
  Result<std::vector<Process>> list();
  // One of them, without looking at all others. Nothing: the list tells whether there is one.
  std::optional<Process> find(pid_t pid);
  // One that was listed lately and still runs. Does not wait for its runtime.
  std::optional<Process> still_there(pid_t pid) const;

 private:
  struct Known {
    Process process{};
    std::uint64_t start_ticks = 0;
    TraceTime asked{};
  };
  std::optional<Process> known(pid_t pid, const ProcStatus& status) const;
  void keep(const Process& process);

  Guarded<std::map<pid_t, Known>> known_{};
};

}  // namespace clrscope::ops
