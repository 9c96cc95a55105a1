#include "ops/check.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/io.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/target_root.h"
#include "base/text.h"
#include "collect/perf/rights.h"
#include "ipc/commands.h"
#include "ops/describe.h"
#include "ops/portless.h"
#include "ops/processes.h"

namespace clrscope::ops {
namespace {

CheckRow no(std::string id, std::string source, const Error& error) {
  return {std::move(id), std::move(source), Works::kNo, error.what, error.hint};
}

CheckRow check_port(const Result<ipc::ProcessInfo>& info) {
  if (!info) return no("diagnostic-port", "diagnostic port", info.error());
  return {"diagnostic-port", "diagnostic port", Works::kYes,
          fmt::format(".NET {}, {}", info->runtime_version, info->architecture)};
}

// What the runtime's port offers a recording grows with its version.
CheckRow check_events(const Result<ipc::ProcessInfo>& info) {
  if (!info)
    return {"events", "runtime events", Works::kNo, "they come through the diagnostic port"};
  const auto major =
      parse_number(info->runtime_version.substr(0, info->runtime_version.find('.'))).value_or(0);
  const char* detail = major >= 10 ? "with filters by event id, choice of rundown, stacks on or off"
                       : major >= 9
                           ? "choice of rundown, stacks on or off; no filter by event id"
                           : "all with stacks; no filter by event id, no choice of rundown";
  return {"events", "runtime events", Works::kYes, detail};
}

// createdump lies beside libcoreclr.so; a single-file app carries none.
std::optional<std::string> runtime_folder(pid_t pid) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid));
  if (!maps) return std::nullopt;
  constexpr std::string_view kLibrary = "/libcoreclr.so";
  for (const auto line : split(*maps, '\n')) {
    if (!line.ends_with(kLibrary)) continue;
    const auto path = line.substr(line.find('/'));
    return std::string{path.substr(0, path.size() - kLibrary.size())};
  }
  return std::nullopt;
}

CheckRow check_dump(pid_t pid) {
  CheckRow row{.id = "dump", .source = "dump"};
  const auto folder = runtime_folder(pid);
  if (!folder) {
    row.works = Works::kPartly;
    row.detail = "cannot see where its runtime lies";
    row.hint = "run as the process's user or as root; a single-file app needs createdump beside it";
    return row;
  }
  const auto root = TargetRoot::open(pid);
  if (!root || !root->is_executable(*folder + "/createdump")) {
    row.detail = fmt::format("{}/createdump is not there", *folder);
    row.hint = "the runtime's own package has it; trimmed images leave it out";
    return row;
  }
  row.works = Works::kYes;
  if (const auto status = proc_status(pid))
    row.detail = fmt::format("full: about {}, the process stands still meanwhile",
                             format_bytes(status->rss_bytes));
  return row;
}

CheckRow from_right(std::string id, std::string source, const collect::perf::Right& right) {
  using PerfWorks = collect::perf::Right::Works;
  const auto works = right.works == PerfWorks::kYes      ? Works::kYes
                     : right.works == PerfWorks::kPartly ? Works::kPartly
                                                         : Works::kNo;
  return {std::move(id), std::move(source), works, right.detail, right.hint};
}

// What the kernel lets us see, of one process or of the machine.
void add_kernel_rows(CheckReport& report, std::optional<pid_t> pid) {
  const auto rights = collect::perf::probe_rights(pid);
  auto& rows = report.rows;
  rows.push_back(from_right("cpu-process", "CPU sampling, process", rights.process_cpu));
  rows.push_back(from_right("cpu-machine", "CPU sampling, machine", rights.machine_cpu));
  rows.push_back(from_right("context-switches", "context switches", rights.context_switches));
  rows.push_back(from_right("tracepoints", "tracepoints", rights.tracepoints));
  report.rung =
      choose_rung(rights, pid ? Wanted::kProcess : Wanted::kMachine, KernelWish::kThreadTime);
}

// Known by its port only: whatever needs its /proc is out of reach.
void add_foreign_rows(CheckReport& report) {
  const std::string why = "the process is in another pid namespace";
  const std::string hint = "share the pid namespace: shareProcessNamespace in a pod";
  report.rows.push_back({"memory", "stacks with locks", Works::kPartly,
                         "stacks through the port, without locks and native frames: " + why, hint});
  report.rows.push_back({"dump", "dump", Works::kNo, why, hint});
  report.rows.push_back({"cpu-process", "CPU sampling, process", Works::kNo, why, hint});
  report.rows.push_back({"context-switches", "context switches", Works::kNo, why, hint});
}

// What to run: all of it, or what needs no answer of the runtime.
std::string best_command(const CheckReport& report, pid_t pid, const Result<ipc::ProcessInfo>& info,
                         bool has_port) {
  if (info) return fmt::format("clrscope collect -p {}", pid);
  if (!report.rung || report.rung->cpu == CpuRung::kRuntime) return "none: see the hint";
  if (!has_port)
    return fmt::format("clrscope doctor -p {0} or top -p {0} (CPU samples, stacks and locks)", pid);
  return fmt::format("clrscope collect -p {} (CPU samples: its runtime does not answer)", pid);
}

Result<CheckReport> check_portless(const ipc::DotnetProcess& process) {
  const Result<ipc::ProcessInfo> info = fail(process.unreachable);
  CheckReport report;
  report.process = describe(process);
  report.rows = {check_port(info), check_events(info)};
  add_kernel_rows(report, process.pid);
  report.best = best_command(report, process.pid, info, false);
  return report;
}

Result<CheckReport> check_process(const TargetWish& wish) {
  if (const auto portless = process_without_port(wish)) return check_portless(*portless);
  auto target = find_target(wish, std::chrono::seconds{5}, -1);
  if (!target && target.error().code != Errc::kDenied && target.error().code != Errc::kUnsupported)
    return fail(target.error());
  CheckReport report;
  if (!target) {
    report.rows.push_back(no("diagnostic-port", "diagnostic port", target.error()));
    report.best = "none: see the hint";
    return report;
  }
  const auto info = ipc::process_info(*target->endpoint, std::chrono::seconds{2});
  report.rows = {check_port(info), check_events(info)};
  if (target->process.foreign) {
    add_foreign_rows(report);
  } else {
    report.rows.push_back(check_dump(target->process.pid));
    add_kernel_rows(report, target->process.pid);
  }
  if (info) target->process.runtime = info->runtime_version;
  report.best = best_command(report, target->process.pid, info, true);
  report.process = std::move(target->process);
  return report;
}

}  // namespace

std::string_view to_string(Works works) {
  return works == Works::kYes ? "yes" : works == Works::kPartly ? "partly" : "no";
}

std::string to_json(const CheckReport& report) {
  JsonWriter json;
  json.begin_object();
  if (report.process)
    json.member("pid", report.process->pid)
        .member("name", report.process->name)
        .member("runtime", report.process->runtime);
  json.key("sources").begin_array();
  for (const auto& row : report.rows) {
    json.begin_object()
        .member("id", row.id)
        .member("source", row.source)
        .member("works", to_string(row.works))
        .member("detail", row.detail);
    if (!row.hint.empty()) json.member("hint", row.hint);
    json.end_object();
  }
  json.end_array();
  if (report.rung)
    json.key("rung")
        .begin_object()
        .member("cpu", to_string(report.rung->cpu))
        .member("kernelFrames", report.rung->kernel_frames)
        .member("waits", to_string(report.rung->waits))
        .end_object();
  json.member("best", report.best).end_object();
  return json.text() + "\n";
}

CheckReport check_machine(const std::vector<Process>& processes) {
  const auto reachable = std::ranges::count_if(processes, &Process::reachable);
  CheckReport report;
  CheckRow row{.id = "diagnostic-port", .source = "diagnostic ports"};
  row.works = reachable == std::ssize(processes) ? Works::kYes
              : reachable > 0                    ? Works::kPartly
                                                 : Works::kNo;
  row.detail = processes.empty() ? "no .NET process in sight"
                                 : fmt::format("{} of {} .NET processes can be reached", reachable,
                                               processes.size());
  if (reachable < std::ssize(processes)) row.hint = "clrscope ps says why for each";
  if (processes.empty()) row.works = Works::kPartly;
  report.rows.push_back(std::move(row));
  add_kernel_rows(report, std::nullopt);
  report.best = "clrscope check -p PID";
  return report;
}

Result<CheckReport> check(const std::optional<TargetWish>& target) {
  if (!target) return check_machine(TRY(list_processes()));
  return check_process(*target);
}

}  // namespace clrscope::ops
