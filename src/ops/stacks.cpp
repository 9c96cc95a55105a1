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
Result<Found> find(const TargetWish& wish) {
  if (!wish.command.empty())
    return fail(Errc::kUsage, "stacks are taken of a process that runs already")
        .hint("-p PID, -n NAME, --diagnostic-port SOCKET or a core file");
  if (wish.diagnostic_port) {
    const auto process = TRY(find_target(wish, std::chrono::seconds{5}, -1)).process;
    return Found{process.foreign ? 0 : process.pid, process.name, process.runtime};
  }
  if (wish.pid.has_value() == wish.name.has_value())
    return fail(Errc::kUsage, "{}", wish.pid ? "more than one target" : "which process?")
        .hint("exactly one of -p PID, -n NAME and a core file; clrscope ps lists processes");
  if (wish.pid) {
    auto known = ipc::find_process(*wish.pid);
    if (known) return Found{known->pid, known->name, known->runtime};
    const auto status = proc_status(*wish.pid);  // no .NET process, but perhaps one
    if (!status) return fail(known.error());
    return Found{*wish.pid, status->comm, ""};
  }
  auto named = ipc::find_process_named(*wish.name);
  if (named) return Found{named->pid, named->name, named->runtime};
  std::vector<Found> matches;
  for (auto& one : TRY(ipc::find_processes()))
    if (one.name == *wish.name) matches.push_back({one.pid, one.name, one.runtime});
  if (matches.size() != 1) return fail(named.error());
  return matches[0];
}

Result<inspect::Snapshot> look_at(inspect::Target& target, const inspect::LookWish& wish) {
  auto reader = inspect::open_runtime(target);
  auto seen = TRY(inspect::look(target, reader ? reader->get() : nullptr, wish));
  if (!reader) seen.notes.push_back("no managed frames: " + reader.error().what);
  return seen;
}

// The next rung: who may not read the memory may perhaps ask the runtime.
Result<inspect::Snapshot> from_port_instead(pid_t pid, const Error& why) {
  auto seen = stacks_from_port({.pid = pid});
  if (!seen)
    return fail(why.code, "{}; and its diagnostic port: {}", why.what, seen.error().what)
        .hint("{}", why.hint);
  seen->notes.push_back(
      fmt::format("from the diagnostic port, without locks and native frames: {}", why.what));
  if (!why.hint.empty()) seen->notes.push_back("hint: " + why.hint);
  return seen;
}

}  // namespace

Result<inspect::Snapshot> take_stacks(const StacksWish& wish) {
  if (!wish.core.empty()) {
    if (wish.target.pid || wish.target.name || wish.target.diagnostic_port)
      return fail(Errc::kUsage, "more than one target").hint("a core file, or -p, or -n");
    const auto core = TRY(inspect::open_core(wish.core));
    auto seen = TRY(look_at(*core, wish.look));
    seen.name = wish.core;
    return seen;
  }
  if (wish.target.uid) {
    auto seen = TRY(stacks_from_port(wish.target));
    seen.notes.push_back(
        "from the diagnostic port that it connected to, without locks and native frames");
    return seen;
  }
  const auto found = TRY(find(wish.target));
  if (found.pid == 0) {
    auto seen = TRY(stacks_from_port(wish.target));
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
  auto seen = TRY(look_at(**process, wish.look));
  seen.name = found.name;
  if (seen.runtime.empty()) seen.runtime = found.runtime;
  return seen;
}

}  // namespace clrscope::ops
