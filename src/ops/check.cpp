#include "ops/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/io.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/proc.h"
#include "base/target_root.h"
#include "base/text.h"
#include "collect/perf/rights.h"
#include "inspect/rights.h"
#include "inspect/runtime_reader.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/describe.h"
#include "ops/dump.h"
#include "ops/processes.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kPatience{2};

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

// What the memory tells: native frames by itself, threads and locks by a reader of the runtime.
CheckRow check_memory(pid_t pid) {
  const auto process = inspect::open_process(pid);
  if (!process) return no("memory", "memory", process.error());
  const auto natives = [](const Error& why) {
    return CheckRow{"memory", "memory", Works::kPartly,
                    fmt::format("native frames only: {}", why.what), why.hint};
  };
  const auto reader = inspect::open_runtime(**process);
  if (const auto musl = inspect::unreadable_on_musl(**process)) return natives(*musl);
  if (!reader) return natives(reader.error());
  const auto code = (*reader)->method_at(0);
  if (!code && code.error().code != Errc::kNotFound) return natives(code.error());
  return {"memory", "memory", Works::kYes, fmt::format("read by {}", (*reader)->source())};
}

CheckRow check_pause(pid_t pid) {
  const auto allowed = inspect::may_pause(pid);
  if (!allowed) return no("pause", "pause (ptrace)", allowed.error());
  return {"pause", "pause (ptrace)", Works::kYes, "threads that run are stopped for a moment"};
}

CheckRow check_dump(pid_t pid, const Result<ipc::ProcessInfo>& info) {
  CheckRow row{.id = "dump", .source = "dump"};
  if (!info) {
    row.detail = "the runtime writes it when it is asked through the diagnostic port";
    return row;
  }
  const auto folder = runtime_folder(pid);
  if (!folder) {
    row.works = Works::kPartly;
    row.detail = "cannot see where its runtime lies";
    row.hint = "run as the process's user or as root; a single-file app needs createdump beside it";
    return row;
  }
  const auto root = TargetRoot::open(pid);
  if (!root) {
    row.works = Works::kPartly;
    row.detail = fmt::format("cannot see whether createdump is there: {}", root.error().what);
    row.hint = root.error().hint;
    return row;
  }
  if (!root->is_executable(*folder + "/createdump")) {
    row.detail = fmt::format("{}/createdump is not there", *folder);
    row.hint = "the runtime's own package has it; trimmed images leave it out";
    return row;
  }
  row.works = Works::kYes;
  if (const auto bytes = dump_bytes(pid, DumpType::kFull); bytes > 0)
    row.detail =
        fmt::format("full: about {}, the process stands still meanwhile", format_bytes(bytes));
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

// Of a process that is stopped: by whom, and how it goes on.
std::optional<Error> stopped(pid_t pid) {
  const auto status = proc_status(pid);
  if (!status || (status->state != 'T' && status->state != 't')) return std::nullopt;
  const auto facts = inspect::trace_facts(pid);
  if (facts.tracer != 0)
    return Error{Errc::kTimeout,
                 fmt::format("it is stopped by {} ({})", facts.tracer_name, facts.tracer),
                 fmt::format("let it go on, or end {}", facts.tracer_name)};
  return Error{Errc::kTimeout, "it is stopped", fmt::format("kill -CONT {}", pid)};
}

// Known by its port only: whatever needs its /proc is out of reach.
void add_foreign_rows(CheckReport& report, const TargetWish& wish) {
  const std::string why = "the process is in another pid namespace";
  const std::string hint = "share the pid namespace: shareProcessNamespace in a pod";
  const auto none = [&](const char* id, const char* source) {
    report.rows.push_back({id, source, Works::kNo, why, hint});
  };
  none("memory", "memory");
  none("pause", "pause (ptrace)");
  if (wish.diagnostic_port)
    report.rows.push_back({"dump", "dump", Works::kPartly,
                           "through the folder of the socket; its size is not known before"});
  else
    report.rows.push_back(
        {"dump", "dump", Works::kNo, why, hint + "; or clrscope dump --diagnostic-port SOCKET"});
  none("cpu-process", "CPU sampling, process");
  none("context-switches", "context switches");
}

// What to run: all of it, or what needs no answer of the runtime.
std::string best_command(const CheckReport& report, pid_t pid, PortKind port, bool answers) {
  if (answers) return fmt::format("clrscope collect -p {}", pid);
  if (stopped(pid)) return fmt::format("none while it is stopped: clrscope stacks -p {}", pid);
  if (!report.rung || report.rung->cpu == CpuRung::kRuntime) return "none: see the hint";
  if (port == PortKind::kOff)
    return fmt::format("clrscope doctor -p {0} or top -p {0} (CPU samples, stacks and locks)", pid);
  return fmt::format("clrscope collect -p {} (CPU samples: its runtime does not answer)", pid);
}

void add_rows(CheckReport& report, pid_t pid, const Result<ipc::ProcessInfo>& info) {
  report.rows = {check_port(info), check_events(info), check_memory(pid), check_pause(pid),
                 check_dump(pid, info)};
  add_kernel_rows(report, pid);
  const auto still = stopped(pid);
  if (!still) return;
  const auto cpu = std::ranges::find(report.rows, "cpu-process", &CheckRow::id);
  cpu->works = Works::kNo;
  cpu->detail = "nothing of it runs: " + still->what;
  cpu->hint = still->hint;
}

void conclude(CheckReport& report, pid_t pid, PortKind port, bool answers) {
  report.verbs = verbs_for(report.rows, port);
  report.best = best_command(report, pid, port, answers);
  const auto collect = std::ranges::find(report.verbs, "collect", &VerbUse::verb);
  if (collect->works == Works::kNo) report.rung.reset();  // nothing is recorded
}

// A process that is stopped is not waited for.
Result<ipc::ProcessInfo> ask(const ipc::DotnetProcess& found) {
  if (const auto still = stopped(found.pid)) return fail(*still);
  auto info = ipc::process_info(*ipc::connect_endpoint(found.socket, found.pid), kPatience);
  if (!info)
    if (const auto still = stopped(found.pid)) return fail(*still);
  return info;
}

// One of this machine, by what discovery found: also where its port is closed to us, or off.
CheckReport check_found(const ipc::DotnetProcess& found) {
  CheckReport report;
  report.process = describe(found);
  const bool has_port = found.reachable();
  const auto info = has_port ? ask(found) : fail(found.unreachable);
  if (info) report.process->runtime = info->runtime_version;
  add_rows(report, found.pid, info);
  const auto port = has_port ? (info ? PortKind::kAnswers : PortKind::kSilent)
                    : found.unreachable.code == Errc::kUnsupported ? PortKind::kOff
                                                                   : PortKind::kAnswers;
  conclude(report, found.pid, port, info.has_value());
  return report;
}

Result<CheckReport> check_process(const TargetWish& wish) {
  if (wish.pid) return check_found(TRY(ipc::find_process(*wish.pid)));
  if (wish.name) return check_found(TRY(ipc::find_process_named(*wish.name)));
  auto target = TRY(find_target(wish, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto info = ipc::process_info(*target.endpoint, kPatience);
  CheckReport report;
  if (target.process.foreign) {
    report.rows = {check_port(info), check_events(info)};
    add_foreign_rows(report, wish);
  } else {
    add_rows(report, pid, info);
  }
  if (info) target.process.runtime = info->runtime_version;
  const auto port = !info                    ? PortKind::kSilent
                    : target.process.foreign ? PortKind::kAlone
                                             : PortKind::kAnswers;
  conclude(report, pid, port, info.has_value());
  if (target.process.foreign && wish.diagnostic_port && info)
    report.best = fmt::format("clrscope collect --diagnostic-port {}", *wish.diagnostic_port);
  report.process = std::move(target.process);
  return report;
}

Tone tone(Works works) {
  return works == Works::kYes      ? Tone::kGood
         : works == Works::kPartly ? Tone::kWarning
                                   : Tone::kHarm;
}

std::string line(const Paint& paint, std::string_view what, Works works, std::string_view detail,
                 const std::string& hint) {
  const auto painted = [&](Tone in, const std::string& text) {
    return paint ? paint(in, text) : text;
  };
  const std::string word{to_string(works)};
  auto out = fmt::format("  {:22}{}{}{}\n", what, painted(tone(works), word),
                         std::string(8 - word.size(), ' '), printable(detail));
  if (!hint.empty())
    out += fmt::format("  {:30}{}\n", "", painted(Tone::kDim, "hint: " + printable(hint)));
  return out;
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
  if (!report.verbs.empty()) json.key("verbs").begin_array();
  for (const auto& use : report.verbs) {
    json.begin_object().member("verb", use.verb).member("works", to_string(use.works));
    json.key("uses").begin_array();
    for (const auto& id : use.uses) json.value(id);
    json.end_array();
    if (!use.detail.empty()) json.member("detail", use.detail);
    if (!use.hint.empty()) json.member("hint", use.hint);
    json.end_object();
  }
  if (!report.verbs.empty()) json.end_array();
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

std::string to_text(const CheckReport& report, const Paint& paint) {
  std::string text;
  if (report.process) {
    const auto& runtime = report.process->runtime;
    text += fmt::format("{} ({}), .NET {}\n", printable(report.process->name), report.process->pid,
                        runtime.empty() ? "(version unknown)" : runtime);
  }
  for (const auto& row : report.rows)
    text += line(paint, row.source, row.works, row.detail, row.hint);
  if (!report.verbs.empty()) text += "What each verb uses:\n";
  for (const auto& use : report.verbs) {
    auto detail = fmt::format("{}", fmt::join(use.uses, ", "));
    if (!use.detail.empty()) detail += (detail.empty() ? "" : "; ") + use.detail;
    // The hint is above, beside the source.
    text += line(paint, use.verb, use.works, detail, "");
  }
  if (report.rung) text += fmt::format("Rung: {}\n", words_for(*report.rung));
  return text + fmt::format("Best recording here: {}\n", printable(report.best));
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
