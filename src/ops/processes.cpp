#include "ops/processes.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "ipc/commands.h"
#include "ops/process_from.h"
#include "ops/runtimes.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::milliseconds kPatience{300};  // a healthy runtime answers in under one
constexpr std::size_t kAskersAtOnce = 16;

void ask_runtime(const ipc::DotnetProcess& found, Process& process) {
  const auto endpoint = ipc::connect_endpoint(found.socket, found.pid);
  const auto info = ipc::process_info(*endpoint, kPatience);
  if (!info) {
    process.reason = found.status.state == 'T' ? "it is stopped (SIGSTOP)" : info.error().what;
    process.hint =
        found.status.state == 'T' ? fmt::format("run kill -CONT {}", found.pid) : info.error().hint;
    return;
  }
  if (!info->runtime_version.empty()) process.runtime = info->runtime_version;
  process.architecture = info->architecture;
  process.uid = uid_text(info->cookie);
}

}  // namespace

Process process_from(const ipc::DotnetProcess& found) {
  Process process{.pid = found.pid, .name = found.name, .user = found.user};
  process.runtime = found.runtime;
  process.command_line = fmt::format("{}", fmt::join(found.command_line, " "));
  process.container = found.container;
  update_usage(process, found.status);
  process.reason = found.unreachable.what;
  process.hint = found.unreachable.hint;
  return process;
}

void update_usage(Process& process, const ProcStatus& now) {
  process.up = now.age;
  if (now.rss_bytes > 0) process.rss_bytes = now.rss_bytes;
  if (now.age.count() > 0)
    process.cpu_percent =
        100.0 * static_cast<double>(now.cpu.count()) / static_cast<double>(now.age.count());
}

Result<Process> list_process(pid_t pid) {
  const auto found = TRY(ipc::find_process(pid));
  auto process = process_from(found);
  if (found.reachable()) ask_runtime(found, process);
  return process;
}

Result<std::vector<Process>> list_processes(const std::function<bool(pid_t)>& skip) {
  const auto found = TRY(ipc::find_processes(skip));
  std::vector<Process> processes;
  processes.reserve(found.size());
  for (const auto& one : found) processes.push_back(process_from(one));

  std::atomic<std::size_t> next{0};
  const auto ask_all = [&] {
    for (std::size_t i = next++; i < found.size(); i = next++)
      if (found[i].reachable()) ask_runtime(found[i], processes[i]);
  };
  std::vector<std::jthread> askers;
  for (std::size_t i = 1; i < std::min(found.size(), kAskersAtOnce); ++i)
    askers.emplace_back(ask_all);
  ask_all();
  askers.clear();
  return processes;
}

Result<std::string> application_of(pid_t pid) { return TRY(ipc::find_process(pid)).name; }

const Shape& shape_of(const ProcessAnswer*) {
  using A = ProcessAnswer;
  static const auto shape = clrscope::describe<A>(
      "Process", "a .NET process",
      {member<&A::pid>("pid", "process id"), member<&A::name>("name", "name of the application"),
       member<&A::user>("user", "owner of the process"),
       member<&A::runtime>("runtime", "version of the runtime; empty if unknown"),
       member<&A::architecture>("architecture", "processor architecture; empty if unknown"),
       member<&A::command_line>("commandLine", "command line"),
       member<&A::reachable>("reachable", "whether its diagnostic port answers"),
       member<&A::reason>("reason", "why it is not reachable"),
       member<&A::hint>("hint", "what to do about that"),
       member<&A::up>("upMs", "time since its start"),
       member<&A::cpu_percent>("cpuPercent", Unit::kPercent,
                               "average CPU use since its start; 100 is one core"),
       member<&A::rss_bytes>("rssBytes", Unit::kBytes, "resident memory"),
       member<&A::container>("container", "id of its container")});
  return shape;
}

ProcessAnswer answer_of(const Process& process) {
  ProcessAnswer answer{.pid = process.pid,
                       .name = process.name,
                       .user = process.user,
                       .runtime = process.runtime,
                       .architecture = process.architecture,
                       .command_line = process.command_line,
                       .reachable = process.reachable(),
                       .up = process.up,
                       .cpu_percent = process.cpu_percent,
                       .rss_bytes = process.rss_bytes,
                       .container = unless_empty(process.container)};
  if (!process.reachable()) {
    answer.reason = process.reason;
    answer.hint = unless_empty(process.hint);
  }
  return answer;
}

}  // namespace clrscope::ops
