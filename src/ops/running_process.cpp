#include "ops/running_process.h"

#include <vector>

#include "base/proc.h"
#include "ipc/discover.h"

namespace clrscope::ops {

Result<RunningProcess> find_running(const TargetRequest& request, std::string_view verb) {
  if (!request.command.empty())
    return fail(Errc::kUsage, "{} requires a process that is already running", verb)
        .hint("use -p PID, -n NAME, --diagnostic-port SOCKET or a core file");
  if (request.diagnostic_port) {
    const auto process = TRY(find_target(request, std::chrono::seconds{5}, -1)).process;
    return RunningProcess{process.foreign ? 0 : process.pid, process.name, process.runtime};
  }
  if (request.pid.has_value() == request.name.has_value())
    return fail(Errc::kUsage, "{}", request.pid ? "more than one target" : "which process?")
        .hint(
            "use exactly one of -p PID, -n NAME and a core file; clrscope ps lists the processes");
  if (request.pid) {
    auto known = ipc::find_process(*request.pid);
    if (known) return RunningProcess{known->pid, known->name, known->runtime};
    const auto status = proc_status(*request.pid);  // no .NET process, but perhaps one
    if (!status) return fail(known.error());
    return RunningProcess{*request.pid, status->comm, ""};
  }
  auto named = ipc::find_process_named(*request.name);
  if (named) return RunningProcess{named->pid, named->name, named->runtime};
  std::vector<RunningProcess> matches;
  for (auto& one : TRY(ipc::find_processes()))
    if (one.name == *request.name) matches.push_back({one.pid, one.name, one.runtime});
  if (matches.size() != 1) return fail(named.error());
  return matches[0];
}

}  // namespace clrscope::ops
