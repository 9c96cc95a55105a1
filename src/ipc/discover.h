// Finds the .NET processes of this machine by their diagnostic sockets and by the runtime mapped
// into them.
//
// Looks through /proc/PID/root, so that processes in other mount and pid namespaces are found under
// their own TMPDIR and namespace pid. Asks no process anything: that is commands.h. Naming and
// layout: docs/formats/ipc.md
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/proc.h"
#include "base/result.h"

namespace clrscope::ipc {

struct DotnetProcess {
  pid_t pid = 0;     // as we see it
  std::string name;  // the application: entry assembly or apphost, never "dotnet"
  std::string user;
  ProcStatus status;
  std::vector<std::string> command_line;
  std::string container;  // empty: same namespaces as ours
  std::string socket;     // path that we can connect to; empty when there is none
  std::string runtime;  // version from the path of libcoreclr.so, empty when unknown (single file,
                        // hidden maps)
  Error unreachable{};  // what is empty when it can be reached; else the reason and the remedy

  bool reachable() const { return unreachable.what.empty(); }
};

// Every .NET process, by pid; those that cannot be reached too, with the reason. `skip`: those that
// the caller knows already.
Result<std::vector<DotnetProcess>> find_processes(const std::function<bool(pid_t)>& skip = {});

// One process. No such pid, or not .NET: an error that says so.
Result<DotnetProcess> find_process(pid_t pid);

// Exactly one reachable process of that application name; several or none are errors that list what
// there is.
Result<DotnetProcess> find_process_named(const std::string& name);

}  // namespace clrscope::ipc
