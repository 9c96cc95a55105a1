#include "ops/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/io.h"
#include "base/proc.h"
#include "base/target_root.h"
#include "base/text.h"
#include "collect/perf/rights.h"
#include "inspect/rights.h"
#include "inspect/runtime_reader.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/dump.h"
#include "ops/process_from.h"
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
  if (!info) return {"events", "runtime events", Works::kNo, "read through the diagnostic port"};
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
  return {"memory", "memory", Works::kYes, fmt::format("read by {}", name_of((*reader)->source()))};
}

CheckRow check_pause(pid_t pid) {
  const auto allowed = inspect::may_pause(pid);
  if (!allowed) return no("pause", "pause (ptrace)", allowed.error());
  return {"pause", "pause (ptrace)", Works::kYes, "running threads are paused briefly"};
}

CheckRow check_dump(pid_t pid, const Result<ipc::ProcessInfo>& info) {
  CheckRow row{.id = "dump", .source = "dump"};
  if (!info) {
    row.detail = "written by the runtime, requested through the diagnostic port";
    return row;
  }
  const auto folder = runtime_folder(pid);
  if (!folder) {
    row.works = Works::kPartly;
    row.detail = "cannot find the folder of its runtime";
    row.hint = "run as the process's user or as root; a single-file app needs createdump beside it";
    return row;
  }
  const auto root = TargetRoot::open(pid);
  if (!root) {
    row.works = Works::kPartly;
    row.detail = fmt::format("cannot check for createdump: {}", root.error().what);
    row.hint = root.error().hint;
    return row;
  }
  if (!root->is_executable(*folder + "/createdump")) {
    row.detail = fmt::format("{}/createdump is missing", *folder);
    row.hint = "use an image with the complete .NET runtime; trimmed images leave createdump out";
    return row;
  }
  row.works = Works::kYes;
  if (const auto bytes = dump_bytes(pid, DumpType::kFull); bytes > 0)
    row.detail = fmt::format("full: about {}; the process is paused while it is written",
                             format_bytes(bytes));
  return row;
}

CheckRow from_right(std::string id, std::string source, const collect::perf::Right& right) {
  using PerfWorks = collect::perf::Right::Works;
  const auto works = right.works == PerfWorks::kYes      ? Works::kYes
                     : right.works == PerfWorks::kPartly ? Works::kPartly
                                                         : Works::kNo;
  return {std::move(id), std::move(source), works, right.detail, right.hint};
}

// Whether the agent could be loaded for CPU samples; it is not tried.
CheckRow check_agent(const Result<ipc::ProcessInfo>& info) {
  CheckRow row{.id = "agent", .source = "agent"};
  if (!info) {
    row.detail = "loaded through the diagnostic port";
    return row;
  }
  const auto major =
      parse_number(info->runtime_version.substr(0, info->runtime_version.find('.'))).value_or(0);
  if (major < 8 || info->architecture != "x64") {
    row.detail = "requires .NET 8 or later on x64";
    return row;
  }
  row.works = Works::kYes;
  row.detail = "can be loaded: exceptions, locks, allocations; CPU samples where perf is refused";
  return row;
}

// What the kernel lets us see, of one process or of the machine.
void add_kernel_rows(CheckReport& report, std::optional<pid_t> pid) {
  const auto rights = collect::perf::probe_rights(pid);
  auto& rows = report.rows;
  rows.push_back(from_right("cpu-process", "CPU sampling, process", rights.process_cpu));
  rows.push_back(from_right("cpu-machine", "CPU sampling, machine", rights.machine_cpu));
  rows.push_back(from_right("context-switches", "context switches", rights.context_switches));
  rows.push_back(from_right("tracepoints", "tracepoints", rights.tracepoints));
  const auto agent = std::ranges::find(rows, "agent", &CheckRow::id);
  report.rung =
      choose_rung(rights, pid ? Wanted::kProcess : Wanted::kMachine, KernelData::kThreadTime,
                  {.works = agent != rows.end() && agent->works == Works::kYes});
}

// Of a process that is stopped: by whom, and how it goes on.
std::optional<Error> stopped(pid_t pid) {
  const auto status = proc_status(pid);
  if (!status || (status->state != 'T' && status->state != 't')) return std::nullopt;
  const auto facts = inspect::trace_facts(pid);
  if (facts.tracer != 0)
    return Error{Errc::kTimeout,
                 fmt::format("it is stopped by {} ({})", facts.tracer_name, facts.tracer),
                 fmt::format("let it continue, or end {}", facts.tracer_name)};
  return Error{Errc::kTimeout, "it is stopped", fmt::format("kill -CONT {}", pid)};
}

// Known by its port only: whatever needs its /proc is out of reach.
void add_foreign_rows(CheckReport& report, const TargetRequest& request) {
  const std::string why = "the process is in another pid namespace";
  const std::string hint = "share the pid namespace: shareProcessNamespace in a pod";
  const auto none = [&](const char* id, const char* source) {
    report.rows.push_back({id, source, Works::kNo, why, hint});
  };
  none("memory", "memory");
  none("pause", "pause (ptrace)");
  if (request.diagnostic_port)
    report.rows.push_back({"dump", "dump", Works::kPartly,
                           "through the folder of the socket; the size is unknown beforehand"});
  else
    report.rows.push_back(
        {"dump", "dump", Works::kNo, why, hint, {{"dump", {{"diagnostic-port", "SOCKET"}}}}});
  none("cpu-process", "CPU sampling, process");
  none("context-switches", "context switches");
}

Remedy about(std::string verb, pid_t pid) {
  return {std::move(verb), {{"pid", std::to_string(pid)}}};
}

// What to run: all of it, or what needs no answer of the runtime.
void choose_next(CheckReport& report, pid_t pid, PortKind port, bool answers) {
  if (answers) {
    report.next = {about("collect", pid)};
  } else if (stopped(pid)) {
    report.next = {about("stacks", pid)};
    report.next_detail = "nothing can be recorded while it is stopped";
  } else if (!report.rung || report.rung->cpu == CpuRung::kRuntime) {
    report.next_detail = "nothing can be recorded: see the hints";
  } else if (port == PortKind::kOff) {
    report.next = {about("doctor", pid), about("top", pid)};
    report.next_detail = "CPU samples, stacks and locks";
  } else {
    report.next = {about("collect", pid)};
    report.next_detail = "CPU samples only: its runtime does not answer";
  }
}

void add_rows(CheckReport& report, pid_t pid, const Result<ipc::ProcessInfo>& info) {
  report.rows = {check_port(info), check_events(info),    check_memory(pid),
                 check_pause(pid), check_dump(pid, info), check_agent(info)};
  add_kernel_rows(report, pid);
  const auto still = stopped(pid);
  if (!still) return;
  const auto cpu = std::ranges::find(report.rows, "cpu-process", &CheckRow::id);
  cpu->works = Works::kNo;
  cpu->detail = "not running: " + still->what;
  cpu->hint = still->hint;
}

void conclude(CheckReport& report, pid_t pid, PortKind port, bool answers) {
  report.verbs = verbs_for(report.rows, port);
  choose_next(report, pid, port, answers);
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
  report.process = process_from(found);
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

Result<CheckReport> check_process(const TargetRequest& request) {
  if (request.pid) return check_found(TRY(ipc::find_process(*request.pid)));
  if (request.name) return check_found(TRY(ipc::find_process_named(*request.name)));
  auto target = TRY(find_target(request, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto info = ipc::process_info(*target.endpoint, kPatience);
  CheckReport report;
  if (target.process.foreign) {
    report.rows = {check_port(info), check_events(info)};
    add_foreign_rows(report, request);
  } else {
    add_rows(report, pid, info);
  }
  if (info) target.process.runtime = info->runtime_version;
  const auto port = !info                    ? PortKind::kSilent
                    : target.process.foreign ? PortKind::kAlone
                                             : PortKind::kAnswers;
  conclude(report, pid, port, info.has_value());
  if (target.process.foreign && request.diagnostic_port && info)
    report.next = {{"collect", {{"diagnostic-port", *request.diagnostic_port}}}};
  report.process = std::move(target.process);
  return report;
}

Tone tone(Works works) {
  return works == Works::kYes      ? Tone::kGood
         : works == Works::kPartly ? Tone::kWarning
                                   : Tone::kHarm;
}

}  // namespace

std::span<const std::string_view> names_of(Works) {
  static constexpr std::array<std::string_view, 3> kNames{"yes", "partly", "no"};
  return kNames;
}
std::string_view to_string(Works works) { return names_of(works)[static_cast<std::size_t>(works)]; }

CheckAnswer answer_of(const CheckReport& report) {
  CheckAnswer answer{.sources = report.rows,
                     .verbs = report.verbs,
                     .next = report.next,
                     .next_detail = report.next_detail};
  if (report.process) {
    answer.pid = report.process->pid;
    answer.process = report.process->name;
    answer.runtime = report.process->runtime;
  }
  if (report.rung) answer.rung = {report.rung->cpu, report.rung->kernel_frames, report.rung->waits};
  return answer;
}

const Shape& shape_of(const CheckRow*) {
  using T = CheckRow;
  static const auto shape = clrscope::describe<T>(
      "CheckedSource", "a source of data and whether it works",
      {member<&T::id>("id", "id of the source"), member<&T::source>("source", "name of the source"),
       member<&T::works>("works", "whether it works"),
       member<&T::detail>("detail", "what it gives, or why it does not work"),
       member_unless_empty<&T::hint>("hint", "what to do about it"),
       member_unless_empty<&T::next>("next", "commands that help")});
  return shape;
}

const Shape& shape_of(const VerbUse*) {
  using T = VerbUse;
  static const auto shape =
      clrscope::describe<T>("CheckedVerb", "the sources that a verb uses for the process",
                            {member<&T::verb>("verb", "name of the verb"),
                             member<&T::works>("works", "whether the verb works"),
                             member<&T::uses>("uses", "ids of the sources it uses"),
                             member_unless_empty<&T::detail>("detail", "what is missing, and why"),
                             member_unless_empty<&T::hint>("hint", "what to do about it")});
  return shape;
}

const Shape& shape_of(const CheckAnswer::Rung*) {
  using T = CheckAnswer::Rung;
  static const auto shape = clrscope::describe<T>(
      "Rung", "what a recording of thread time would contain here",
      {member<&T::cpu>("cpu", "where CPU samples come from"),
       member<&T::kernel_frames>("kernelFrames", "whether samples have kernel frames"),
       member<&T::waits>("waits", "what is recorded of waits")});
  return shape;
}

const Shape& shape_of(const CheckAnswer*) {
  using T = CheckAnswer;
  static const auto shape = clrscope::describe<T>(
      "Check", "which data sources work here, and how to fix those that do not",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::runtime>("runtime", ".NET version"),
       member<&T::sources>("sources", "sources of data"),
       member_unless_empty<&T::verbs>("verbs", "what each verb uses for the process"),
       member<&T::rung>("rung", "what a recording of thread time would contain"),
       member<&T::next>("next", "commands to run next, the best first"),
       member_unless_empty<&T::next_detail>(
           "nextDetail", "what the runtime's own events give, or why they are unavailable")});
  return shape;
}

Document check_document(const CheckReport& report) {
  Document page{.summary = {}};
  if (report.process) {
    const auto& runtime = report.process->runtime;
    page.summary.push_back(fmt::format("{} ({}), .NET {}", report.process->name,
                                       report.process->pid,
                                       runtime.empty() ? "(version unknown)" : runtime));
  }
  Facts sources{};
  for (const auto& row : report.rows)
    sources.rows.push_back({row.source, std::string{to_string(row.works)}, tone(row.works),
                            row.detail, row.hint, row.next});
  page.blocks.emplace_back(std::move(sources));
  if (!report.verbs.empty()) page.blocks.emplace_back(Paragraph{"What each verb uses:"});
  Facts verbs{};
  for (const auto& use : report.verbs) {
    auto detail = fmt::format("{}", fmt::join(use.uses, ", "));
    if (!use.detail.empty()) detail += (detail.empty() ? "" : "; ") + use.detail;
    // The hint is above, beside the source.
    verbs.rows.push_back(
        {use.verb, std::string{to_string(use.works)}, tone(use.works), std::move(detail)});
  }
  page.blocks.emplace_back(std::move(verbs));
  if (report.rung)
    page.blocks.emplace_back(Paragraph{fmt::format("Rung: {}", words_for(*report.rung))});
  page.blocks.emplace_back(
      NextSteps{.label = "Next", .remedies = report.next, .note = report.next_detail});
  return page;
}

CheckReport check_machine(const std::vector<Process>& processes) {
  const auto reachable = std::ranges::count_if(processes, &Process::reachable);
  CheckReport report;
  CheckRow row{.id = "diagnostic-port", .source = "diagnostic ports"};
  row.works = reachable == std::ssize(processes) ? Works::kYes
              : reachable > 0                    ? Works::kPartly
                                                 : Works::kNo;
  row.detail = processes.empty() ? "no .NET process found"
                                 : fmt::format("{} of {} .NET processes can be reached", reachable,
                                               processes.size());
  if (reachable < std::ssize(processes)) {
    row.hint = "list the processes to see the reason for each";
    row.next = {{"ps", {}}};
  }
  if (processes.empty()) row.works = Works::kPartly;
  report.rows.push_back(std::move(row));
  add_kernel_rows(report, std::nullopt);
  report.next = {{"check", {{"pid", ""}}}};
  return report;
}

Result<CheckReport> check(const std::optional<TargetRequest>& target) {
  if (!target) return check_machine(TRY(list_processes()));
  return check_process(*target);
}

}  // namespace clrscope::ops
