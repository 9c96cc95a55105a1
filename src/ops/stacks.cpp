#include "ops/stacks.h"

#include <fmt/format.h>

#include "ops/running_process.h"
#include "ops/stacks_from_port.h"

namespace clrscope::ops {
namespace {

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
  const auto found = TRY(find_running(request.target, "stacks"));
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
