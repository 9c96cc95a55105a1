#include "ops/processes.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "ipc/commands.h"
#include "ops/describe.h"
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
        found.status.state == 'T' ? fmt::format("kill -CONT {}", found.pid) : info.error().hint;
    return;
  }
  if (!info->runtime_version.empty()) process.runtime = info->runtime_version;
  process.architecture = info->architecture;
  process.uid = uid_text(info->cookie);
}

}  // namespace

Process describe(const ipc::DotnetProcess& found) {
  Process process{.pid = found.pid, .name = found.name, .user = found.user};
  process.runtime = found.runtime;
  process.command_line = fmt::format("{}", fmt::join(found.command_line, " "));
  process.container = found.container;
  process.up = found.status.age;
  if (found.status.rss_bytes > 0) process.rss_bytes = found.status.rss_bytes;
  if (found.status.age.count() > 0)
    process.cpu_percent = 100.0 * static_cast<double>(found.status.cpu.count()) /
                          static_cast<double>(found.status.age.count());
  process.reason = found.unreachable.what;
  process.hint = found.unreachable.hint;
  return process;
}

Result<std::vector<Process>> list_processes() {
  const auto found = TRY(ipc::find_processes());
  std::vector<Process> processes;
  processes.reserve(found.size());
  for (const auto& one : found) processes.push_back(describe(one));

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

}  // namespace clrscope::ops
