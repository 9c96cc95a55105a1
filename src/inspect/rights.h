// Why a process may not be traced, and what to do about it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::inspect {

// What decides whether we may read and stop a process.
struct TraceFacts {
  pid_t tracer = 0;  // who traces it already; 0: nobody
  std::string tracer_name{};
  uid_t owner = 0;
  std::string owner_name{};
  uid_t our_uid = 0;
  bool we_may_trace_all = false;  // CAP_SYS_PTRACE
  int yama_scope = 0;             // /proc/sys/kernel/yama/ptrace_scope; 0 also where there is none
};
TraceFacts trace_facts(pid_t pid);
std::string trace_hint(const TraceFacts& facts);

// The failure of a call on a process with this error number: "cannot WHAT process PID: …".
Failure cannot_trace(std::string_view what, pid_t pid, int error_number);

// Whether we may stop its threads for a moment (ptrace). Found without stopping any.
Result<> may_pause(pid_t pid);

}  // namespace clrscope::inspect
