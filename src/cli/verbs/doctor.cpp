#include <fmt/format.h>

#include "answer/text.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/command_text.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "http/single_file.h"
#include "ops/doctor_document.h"
#include "ops/doctor_file.h"
#include "ops/examine_all.h"
#include "ops/examine_watch.h"

namespace clrscope::cli {
namespace {

constexpr int kFailOnMatched = 10;

constexpr Option kDoctor[] = {
    {.name = "--process-id", .value = "PID", .help = "id of the process", .letter = 'p'},
    {.name = "--name",
     .value = "NAME",
     .help = "name of the process; must match exactly one",
     .letter = 'n'},
    {.name = "--diagnostic-port",
     .value = "SOCKET",
     .help = "diagnostic port of the process; works without access to /proc or its memory"},
    {.name = "--all", .help = "all .NET processes, most severe finding first", .letter = 'a'},
    {.name = "--at-once",
     .value = "N",
     .help = "with -a: processes examined at the same time (default: 4)"},
    {.name = "--max-time",
     .value = "TIME",
     .help = "with -a: time after which no further process is examined (default: 2m)"},
    {.name = "--duration",
     .value = "TIME",
     .help = "how long to watch each process (default: 10s; with -a: 6s)"},
    {.name = "--watch",
     .help = "keep examining and print findings as they begin and end, without events or CPU "
             "samples; --duration limits the time"},
    {.name = "--interval",
     .value = "TIME",
     .help = "with --watch: time from one examination to the next (default: 5s)"},
    {.name = "--only", .value = "ID,…", .help = "ids of the examinations to run (default: all)"},
    {.name = "--sampler",
     .value = "NAME",
     .help = "source of CPU samples: best, perf, agent or runtime (default: best, which loads no "
             "agent)"},
    {.name = "--set",
     .value = "ID.NAME=N",
     .help = "parameter of an examination, such as CS1501.perSecond=10"},
    {.name = "--fail-on",
     .value = "error|warning",
     .help = "severity of a finding that makes the exit code 10"},
    {.name = "--format", .value = "text|json|html", .help = "output format (default: text)"},
    {.name = "--earlier",
     .value = "FILE",
     .help = "with --format html: earlier report (JSON or HTML) to show as history and to compare "
             "with; may be repeated"},
    {.name = "--explain", .value = "ID", .help = "explanation of a finding and its fix"},
    {.name = "--list",
     .help = "list of all examinations with their cost, required permissions and parameters"},
};

enum class Form { kText, kJson, kHtml };

Result<Form> form_of(const Args& args) {
  const auto word = args.text("--format");
  if (args.has("--json") || word == "json") return Form::kJson;
  if (!word || *word == "text") return Form::kText;
  if (*word == "html") return Form::kHtml;
  return fail(Errc::kUsage, "unknown format '{}'", *word).hint("use text, json or html");
}

Result<std::optional<ops::Severity>> fail_on(const Args& args) {
  const auto word = args.text("--fail-on");
  if (!word) return std::optional<ops::Severity>{};
  if (*word == "error") return std::optional{ops::Severity::kError};
  if (*word == "warning") return std::optional{ops::Severity::kWarning};
  return fail(Errc::kUsage, "unknown severity '{}' for --fail-on", *word)
      .hint("use error or warning");
}

Result<int> explain(const std::string& id, Console& console) {
  const auto text = ops::explanation(id);
  if (text.empty()) {
    TRY(ops::select({id}, {}));
    return fail(Errc::kNotFound, "{} has no explanation", id);
  }
  console.data(text);
  return kDone;
}

Result<ops::ExamineRequest> examine_request(const Args& args) {
  ops::ExamineRequest request{.target = TRY(target_request(args))};
  if (!args.positionals().empty()) request.core = args.positionals()[0];
  if (!request.core.empty() &&
      (request.target.pid || request.target.name || request.target.diagnostic_port))
    return fail(Errc::kUsage, "both a process and a core file given")
        .hint("give one of -p, -n, --diagnostic-port or the path of a core file");
  for (const auto& word : args.all("--only"))
    for (const auto id : split(word, ',')) request.only.emplace_back(trim(id));
  request.settings = args.all("--set");
  request.duration = TRY(args.duration("--duration"));
  request.sampler = TRY(sampler_of(args));
  return request;
}

// Read before the examination, so that an invalid file is reported at once.
Result<std::vector<ops::KeptReport>> earlier_reports(const Args& args, Form form) {
  std::vector<ops::KeptReport> all;
  const auto files = args.all("--earlier");
  if (!files.empty() && form != Form::kHtml)
    return fail(Errc::kUsage, "--earlier requires --format html");
  for (const auto& file : files)
    for (auto& one : TRY(ops::read_kept_reports(file))) all.push_back(std::move(one));
  return all;
}

// The whole machine.
Result<int> make_round(const Args& args, Console& console) {
  const auto form = TRY(form_of(args));
  const auto limit = TRY(fail_on(args));
  ops::RoundRequest request{.each = TRY(examine_request(args))};
  if (!request.each.core.empty() || request.each.target.pid || request.each.target.name ||
      request.each.target.diagnostic_port)
    return fail(Errc::kUsage, "both -a and a process given")
        .hint("leave out one of them; -a examines all processes");
  if (form == Form::kHtml)
    return fail(Errc::kUsage, "--format html is unavailable with -a")
        .hint("use text or json, or -p PID for one process");
  request.at_once = TRY(args.number("--at-once", 1, 64)).value_or(request.at_once);
  request.longest = TRY(args.duration("--max-time")).value_or(request.longest);
  const StopRequest stop{EnterKey::kStops};
  request.each.stop_fds = stop.fds();
  const auto round = TRY(ops::examine_all(request, [&](const ops::RoundStatus& status) {
    if (console.shows_progress())
      console.progress(fmt::format("Examining  {} of {} processes done, {} running",
                                   status.examined, status.processes, status.running));
  }));
  if (form == Form::kJson)
    console.data(json_line(answer_of(round)));
  else
    console.data(answer::page_text(round_document(round), console.text_style()));
  return limit && round.has(*limit) ? kFailOnMatched : kDone;
}

std::string clock_text(WallTime time) {
  const auto text = iso8601(time);  // 2026-05-01T12:34:56.789Z
  return text.substr(11, 8);
}

std::string change_text(const ops::FindingChange& change, Console& console) {
  const auto& report = change.report;
  const bool began = change.kind == ops::FindingChange::Kind::kBegan;
  const auto tone = !began                                       ? Tone::kPlain
                    : report.severity == ops::Severity::kError   ? Tone::kHarm
                    : report.severity == ops::Severity::kWarning ? Tone::kWarning
                                                                 : Tone::kPlain;
  const auto what = began ? std::string{"began"}
                          : fmt::format("ended after {}",
                                        format_duration(std::chrono::round<std::chrono::seconds>(
                                            change.time - change.began)));
  auto line =
      fmt::format("{}  {}\n", clock_text(change.time),
                  console.paint(tone, fmt::format("{} {}: {}", report.id, what, report.title)));
  if (began && !report.advice.empty()) line += fmt::format("          Do: {}.\n", report.advice);
  return line;
}

// Goes on until it is told to end.
Result<int> watch(const Args& args, Console& console) {
  const auto form = TRY(form_of(args));
  const auto limit = TRY(fail_on(args));
  if (form == Form::kHtml)
    return fail(Errc::kUsage, "--format html is unavailable with --watch").hint("use text or json");
  ops::FindingWatchRequest request{.each = TRY(examine_request(args))};
  request.duration = request.each.duration;
  request.interval = TRY(args.duration("--interval")).value_or(request.interval);
  if (request.interval < std::chrono::seconds{1})
    return fail(Errc::kUsage, "--interval must be 1s or longer");
  const StopRequest stop{EnterKey::kStops};
  request.each.stop_fds = stop.fds();
  const auto report = TRY(ops::watch_findings(
      request,
      {.on_start =
           [&](const auto& examination) {
             console.talk("Watching {} ({}) every {}; Ctrl+C ends", examination.process.name,
                          examination.process.pid, format_duration(request.interval));
           },
       .on_change =
           [&](const auto& examination, const ops::FindingChange& change) {
             console.data(form == Form::kJson ? json_line(ops::answer_of(examination, change))
                                              : change_text(change, console));
           }}));
  console.talk("{} examination{}, {} finding{} open{}", report.examinations,
               report.examinations == 1 ? "" : "s", report.open, report.open == 1 ? "" : "s",
               report.process_ended ? "; the process has ended" : "");
  return limit && report.worst && *report.worst >= *limit ? kFailOnMatched : kDone;
}

void show(const ops::ExamineStatus& status, Console& console) {
  if (!console.shows_progress()) return;
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  if (status.concluding) return console.progress("Collecting method names and evaluating …");
  const auto whole = seconds(status.whole);
  const auto filled =
      static_cast<std::size_t>(16 * std::min(1.0, whole > 0 ? seconds(status.elapsed) / whole : 1));
  std::string bar;
  for (std::size_t i = 0; i < 16; ++i) bar += i < filled ? "▇" : "░";
  console.progress(fmt::format("Examining  {}  {:.0f} s of {:.0f}   {} snapshots   {} events", bar,
                               seconds(status.elapsed), whole, status.snapshots,
                               format_count(status.events)));
}

Result<int> run(const Args& args, Console& console) {
  const auto form = TRY(form_of(args));
  if (args.has("--list")) {
    console.data(form == Form::kJson
                     ? ops::registry_json()
                     : answer::page_text(ops::registry_document(), console.text_style()));
    return kDone;
  }
  if (const auto id = args.text("--explain")) return explain(*id, console);
  if (args.has("--watch") && args.has("--all"))
    return fail(Errc::kUsage, "--watch examines one process").hint("leave out -a and use -p PID");
  if (args.text("--interval") && !args.has("--watch"))
    return fail(Errc::kUsage, "--interval requires --watch");
  if (args.has("--watch")) return watch(args, console);
  if (args.has("--all")) return make_round(args, console);
  const auto limit = TRY(fail_on(args));
  auto request = TRY(examine_request(args));
  auto earlier = TRY(earlier_reports(args, form));
  const StopRequest stop{EnterKey::kStops};
  request.stop_fds = stop.fds();
  const auto examination = TRY(ops::examine(
      request, {.on_status = [&](const ops::ExamineStatus& status) { show(status, console); }}));
  switch (form) {
    case Form::kText:
      console.data(answer::page_text(ops::doctor_document(examination), console.text_style()));
      break;
    case Form::kJson:
      console.data(ops::to_json(examination));
      break;
    case Form::kHtml:
      console.data(http::single_file(
          {.kind = "doctor",
           .title =
               fmt::format("{} ({}) · doctor", examination.process.name, examination.process.pid),
           .text = answer::page_text(ops::doctor_document(examination), {.spell = command_text}),
           .json = ops::kept_reports_json(TRY(ops::kept_report(ops::to_json(examination))),
                                          std::move(earlier))}));
      break;
  }
  return limit && examination.diagnosis.has(*limit) ? kFailOnMatched : kDone;
}

const Options kOptions[] = {Options{kDoctor}, kCommonOptions};

constexpr JsonAnswer kAnswers[] = {
    answers_with<ops::ExaminationAnswer>(),
    answers_with<ops::RoundAnswer>(JsonAnswer::Form::kObject, "--all"),
    answers_with<ops::FindingAnswer>(JsonAnswer::Form::kList, "--list"),
    answers_with<ops::ChangeAnswer>(JsonAnswer::Form::kLines, "--watch"),
};

}  // namespace

extern const Verb doctor_verb{
    .name = "doctor",
    .summary = "Diagnose a process: findings, confidence and advice",
    .usage = "(-p PID | -n NAME | --diagnostic-port SOCKET | -a | CORE) [options]",
    .options = kOptions,
    .examples =
        "  clrscope doctor -a --fail-on error\n"
        "  clrscope doctor -n Shop.Api --only CS1001,CS1204 --fail-on error",
    .run = run,
    .positionals = 1,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
