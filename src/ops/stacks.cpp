#include "ops/stacks.h"

#include <fmt/format.h>

#include "base/proc.h"
#include "ipc/discover.h"
#include "ops/stacks_from_port.h"

namespace clrscope::ops {
namespace {

struct Found {
  pid_t pid = 0;  // 0: of another pid namespace
  std::string name;
  std::string runtime;
};

// Also one whose port cannot be reached: its memory may be.
Result<Found> find(const TargetRequest& request) {
  if (!request.command.empty())
    return fail(Errc::kUsage, "stacks requires a process that is already running")
        .hint("use -p PID, -n NAME, --diagnostic-port SOCKET or a core file");
  if (request.diagnostic_port) {
    const auto process = TRY(find_target(request, std::chrono::seconds{5}, -1)).process;
    return Found{process.foreign ? 0 : process.pid, process.name, process.runtime};
  }
  if (request.pid.has_value() == request.name.has_value())
    return fail(Errc::kUsage, "{}", request.pid ? "more than one target" : "which process?")
        .hint(
            "use exactly one of -p PID, -n NAME and a core file; clrscope ps lists the processes");
  if (request.pid) {
    auto known = ipc::find_process(*request.pid);
    if (known) return Found{known->pid, known->name, known->runtime};
    const auto status = proc_status(*request.pid);  // no .NET process, but perhaps one
    if (!status) return fail(known.error());
    return Found{*request.pid, status->comm, ""};
  }
  auto named = ipc::find_process_named(*request.name);
  if (named) return Found{named->pid, named->name, named->runtime};
  std::vector<Found> matches;
  for (auto& one : TRY(ipc::find_processes()))
    if (one.name == *request.name) matches.push_back({one.pid, one.name, one.runtime});
  if (matches.size() != 1) return fail(named.error());
  return matches[0];
}

Result<inspect::Snapshot> snapshot_of(inspect::Target& target,
                                      const inspect::SnapshotOptions& request) {
  auto reader = inspect::open_runtime(target);
  auto seen = TRY(inspect::take_snapshot(target, reader ? reader->get() : nullptr, request));
  if (!reader) seen.notes.push_back("no managed frames: " + reader.error().what);
  return seen;
}

// The next rung: who may not read the memory may perhaps ask the runtime.
Result<inspect::Snapshot> from_port_instead(pid_t pid, const Error& why) {
  auto seen = stacks_from_port({.pid = pid});
  if (!seen)
    return fail(why.code, "{}; its diagnostic port failed too: {}", why.what, seen.error().what)
        .hint("{}", why.hint);
  seen->notes.push_back(
      fmt::format("from the diagnostic port, without locks and native frames: {}", why.what));
  if (!why.hint.empty()) seen->notes.push_back("hint: " + why.hint);
  return seen;
}

}  // namespace

Result<inspect::Snapshot> take_stacks(const StacksRequest& request) {
  if (!request.core.empty()) {
    if (request.target.pid || request.target.name || request.target.diagnostic_port)
      return fail(Errc::kUsage, "more than one target")
          .hint("use a core file, -p or -n, but only one of them");
    const auto core = TRY(inspect::open_core(request.core));
    auto seen = TRY(snapshot_of(*core, request.snapshot));
    seen.name = request.core;
    return seen;
  }
  if (request.target.uid) {
    auto seen = TRY(stacks_from_port(request.target));
    seen.notes.push_back(
        "from the diagnostic port that it connected to, without locks and native frames");
    return seen;
  }
  const auto found = TRY(find(request.target));
  if (found.pid == 0) {
    auto seen = TRY(stacks_from_port(request.target));
    seen.notes.push_back(
        "from the diagnostic port, without locks and native frames: the process is in another pid "
        "namespace");
    return seen;
  }
  const auto process = inspect::open_process(found.pid);
  if (!process && process.error().code == Errc::kDenied)
    return from_port_instead(found.pid, process.error());
  if (!process) return fail(process.error());
  const auto unreadable = inspect::unreadable_on_musl(**process);
  if (unreadable)
    if (auto by_port = from_port_instead(found.pid, *unreadable)) return by_port;
  auto seen = TRY(snapshot_of(**process, request.snapshot));
  seen.name = found.name;
  if (seen.runtime.empty()) seen.runtime = found.runtime;
  return seen;
}

}  // namespace clrscope::ops
