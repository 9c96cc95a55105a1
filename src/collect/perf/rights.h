// Which rung of the ladder we stand on: what perf lets us see here, why not more, and the remedy.
//
// Found by trying, not by guessing from settings. Where a seccomp filter is in force the first try
// is made in a child, because some filters kill.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace clrscope::collect::perf {

struct Right {
  enum class Works { kYes, kPartly, kNo } works = Works::kNo;
  std::string detail{};  // one line: what works, or why not
  std::string hint{};    // how to get the rest
};

struct Rights {
  Right machine_cpu{};       // samples of everything that runs
  Right process_cpu{};       // samples of one process
  Right context_switches{};  // yes: where threads wait; partly: only when
  Right tracepoints{};
  std::optional<int> paranoid{};  // kernel.perf_event_paranoid
  bool filtered = false;          // seccomp keeps us from perf altogether
};

// For a process of ours (we try ourselves) or a given one.
Rights probe_rights(std::optional<pid_t> process);

// What perf_event_open was asked for when it failed.
enum class Asked { kMachine, kProcess, kTracepoint };

// The Error for that errno: reason and remedy. `process` as in kProcess.
Error refusal(int number, Asked asked, pid_t process = 0);

std::optional<int> perf_event_paranoid();

}  // namespace clrscope::collect::perf
