#include "ops/target.h"

#include <signal.h>

#include <utility>

#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ipc/greeter.h"
#include "ops/process_from.h"
#include "ops/runtimes.h"

namespace clrscope::ops {
namespace {

Failure unreachable(const ipc::DotnetProcess& found) {
  return fail(Error{found.unreachable.code,
                    fmt::format("cannot reach process {} ({}): {}", found.pid, found.name,
                                found.unreachable.what),
                    found.unreachable.hint});
}

Result<Target> from_discovery(const ipc::DotnetProcess& found) {
  if (!found.reachable()) return unreachable(found);
  Target target{.process = process_from(found),
                .endpoint = ipc::connect_endpoint(found.socket, found.pid)};
  if (const auto info = ipc::process_info(*target.endpoint, std::chrono::seconds{1})) {
    target.process.runtime = info->runtime_version;
    target.process.architecture = info->architecture;
  }
  return target;
}

// What the runtime says of itself; the name it goes by is its entry assembly. The pid it claims is
// looked up only if the kernel names the same process, `peer`.
Process describe_answer(const ipc::ProcessInfo& info, pid_t peer) {
  if (peer != 0)
    if (const auto found = ipc::find_process(peer);
        found && found->reachable() && std::cmp_equal(found->status.namespace_pid, info.pid)) {
      auto process = process_from(*found);
      process.runtime = info.runtime_version;
      return process;
    }
  return Process{.pid = static_cast<pid_t>(info.pid),
                 .name = info.entry_assembly.empty() ? info.command_line : info.entry_assembly,
                 .user = "",
                 .runtime = info.runtime_version,
                 .architecture = info.architecture,
                 .command_line = info.command_line,
                 .foreign = peer == 0};
}

Result<Process> describe_by_asking(ipc::Endpoint& endpoint) {
  const auto info = TRY(ipc::process_info(endpoint));
  return describe_answer(info, endpoint.peer());
}

// The first runtime that connects and answers.
Result<Target> from_listening(const PortWords& words, std::chrono::nanoseconds patience,
                              int stop_fd) {
  Target target;
  target.port = TRY(ipc::ReversePort::listen(words.path, words.mode));
  ipc::Greeter greeter{*target.port, ipc::Greeter::Words::kAsk, ipc::kDefaultPatience};
  const Deadline deadline{patience};
  while (!deadline.passed()) {
    for (const auto& [runtime, info] : greeter.wait(deadline, stop_fd)) {
      if (!info) {
        log(LogLevel::kDebug, "{}", info.error().what);
        greeter.again(runtime);
        continue;
      }
      target.endpoint = target.port->endpoint(runtime);
      target.suspended = true;  // unless nosuspend is set; resuming is harmless then
      target.process = describe_answer(*info, runtime.peer);
      return target;
    }
    if (stop_fd >= 0 && TRY(wait_readable(stop_fd, Deadline{std::chrono::nanoseconds{0}})))
      return fail(Errc::kGone, "interrupted before a runtime connected to {}", words.path);
  }
  return fail(Errc::kTimeout, "no runtime connected to {} in time", words.path)
      .hint("start the app with DOTNET_DiagnosticPorts={}", words.path);
}

Result<Target> from_port(const std::string& text, std::chrono::nanoseconds patience, int stop_fd) {
  const auto words = TRY(parse_port(text));
  if (words.listens) return from_listening(words, patience, stop_fd);
  Target target;
  target.endpoint = ipc::connect_endpoint(words.path);
  target.process = TRY(describe_by_asking(*target.endpoint));
  return target;
}

Result<Target> from_command(const TargetRequest& request, std::chrono::nanoseconds patience,
                            int stop_fd) {
  Target target;
  target.child = TRY(Child::start(request.command, request.show_child_io, request.environment));
  const auto runtime = target.child->wait_for_runtime(patience, stop_fd);
  if (!runtime) {
    target.child->signal(SIGTERM);  // it may be waiting for us
    return fail(runtime.error());
  }
  target.endpoint = target.child->port().endpoint(*runtime);
  target.suspended = true;
  target.process = TRY(describe_by_asking(*target.endpoint));
  return target;
}

}  // namespace

Result<PortWords> parse_port(const std::string& text) {
  const auto parts = split(text, ',');
  PortWords words{.path = std::string{parts[0]}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "listen")
      words.listens = true;
    else if (parts[i] == "group")
      words.mode = 0660;
    else if (parts[i] == "all")
      words.mode = 0666;
    else if (parts[i] != "connect" && parts[i] != "suspend" && parts[i] != "nosuspend")
      return fail(Errc::kUsage, "unknown kind of diagnostic port '{}'", parts[i])
          .hint("use PATH, PATH,connect or PATH,listen[,group|all]");
  }
  if (parts[0].empty()) return fail(Errc::kUsage, "--diagnostic-port has no path");
  return words;
}

Result<Target> find_target(const TargetRequest& request, std::chrono::nanoseconds patience,
                           int stop_fd) {
  const int named = int{request.pid.has_value()} + int{request.name.has_value()} +
                    int{request.diagnostic_port.has_value()} + int{!request.command.empty()} +
                    int{request.uid.has_value()};
  if (named == 0)
    return fail(Errc::kUsage, "no process given")
        .hint(
            "use -p PID, -n NAME, --diagnostic-port PATH or -- COMMAND; clrscope ps lists the "
            "processes");
  if (named > 1)
    return fail(Errc::kUsage, "more than one target given")
        .hint("use exactly one of -p, -n, --diagnostic-port and -- COMMAND");
  if (request.pid) return from_discovery(TRY(ipc::find_process(*request.pid)));
  if (request.name) return from_discovery(TRY(ipc::find_process_named(*request.name)));
  if (request.uid) return Runtimes::target(request.runtimes, *request.uid);
  if (request.diagnostic_port) return from_port(*request.diagnostic_port, patience, stop_fd);
  return from_command(request, patience, stop_fd);
}

}  // namespace clrscope::ops
