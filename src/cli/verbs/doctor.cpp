#include <fmt/format.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/doctor_text.h"
#include "ops/examine_all.h"

namespace clrscope::cli {
namespace {

constexpr int kFailOnMatched = 10;

constexpr Option kDoctor[] = {
    {.name = "--process-id", .value = "PID", .help = "the process", .letter = 'p'},
    {.name = "--name", .value = "NAME", .help = "the one process of that name", .letter = 'n'},
    {.name = "--diagnostic-port",
     .value = "SOCKET",
     .help = "the one that listens there, also if nothing else of it can be seen"},
    {.name = "--all", .help = "every .NET process, ranked by its worst finding", .letter = 'a'},
    {.name = "--at-once", .value = "N", .help = "with -a: processes at a time (default: 4)"},
    {.name = "--max-time",
     .value = "TIME",
     .help = "with -a: start no examination after this time (default: 2m)"},
    {.name = "--duration", .value = "TIME", .help = "how long to watch it (default: 10s; -a: 6s)"},
    {.name = "--only", .value = "ID,…", .help = "only these examinations"},
    {.name = "--set", .value = "ID.NAME=N", .help = "a parameter of an examination"},
    {.name = "--fail-on",
     .value = "error|warning",
     .help = "exit code 10 when something so harmful was found"},
    {.name = "--format", .value = "text|json|html", .help = "text unless told"},
    {.name = "--explain", .value = "ID", .help = "what a finding means and how it is cured"},
    {.name = "--list", .help = "all examinations: price, rights, parameters"},
};

enum class Form { kText, kJson, kHtml };

Result<Form> form_of(const Args& args) {
  const auto word = args.text("--format");
  if (args.has("--json") || word == "json") return Form::kJson;
  if (!word || *word == "text") return Form::kText;
  if (*word == "html") return Form::kHtml;
  return fail(Errc::kUsage, "there is no format '{}'", *word).hint("text, json or html");
}

Result<std::optional<doctor::Severity>> fail_on(const Args& args) {
  const auto word = args.text("--fail-on");
  if (!word) return std::optional<doctor::Severity>{};
  if (*word == "error") return std::optional{doctor::Severity::kError};
  if (*word == "warning") return std::optional{doctor::Severity::kWarning};
  return fail(Errc::kUsage, "--fail-on '{}' has no meaning", *word).hint("error or warning");
}

Result<int> explain(const std::string& id, Console& console) {
  const auto text = doctor::explanation(id);
  if (text.empty()) {
    TRY(doctor::select({id}, {}));
    return fail(Errc::kNotFound, "{} has no explanation", id);
  }
  console.data(text);
  return kDone;
}

Result<ops::ExamineWish> examine_wish(const Args& args) {
  ops::ExamineWish wish{.target = TRY(target_wish(args))};
  if (!args.positionals().empty()) wish.core = args.positionals()[0];
  if (!wish.core.empty() && (wish.target.pid || wish.target.name || wish.target.diagnostic_port))
    return fail(Errc::kUsage, "a process and a core at once")
        .hint("exactly one of -p, -n, --diagnostic-port and the path of a core");
  for (const auto& word : args.all("--only"))
    for (const auto id : split(word, ',')) wish.only.emplace_back(trim(id));
  wish.settings = args.all("--set");
  wish.duration = TRY(args.duration("--duration"));
  return wish;
}

// The whole machine.
Result<int> make_round(const Args& args, Console& console) {
  const auto form = TRY(form_of(args));
  const auto limit = TRY(fail_on(args));
  ops::RoundWish wish{.each = TRY(examine_wish(args))};
  if (!wish.each.core.empty() || wish.each.target.pid || wish.each.target.name ||
      wish.each.target.diagnostic_port)
    return fail(Errc::kUsage, "-a and one process").hint("-a examines all of them");
  if (form == Form::kHtml)
    return fail(Errc::kUsage, "-a has no format html").hint("text or json; html of one: -p PID");
  wish.at_once = TRY(args.number("--at-once", 1, 64)).value_or(wish.at_once);
  wish.longest = TRY(args.duration("--max-time")).value_or(wish.longest);
  const StopRequest stop{EnterKey::kStops};
  wish.each.stop_fds = stop.fds();
  const auto round = TRY(ops::examine_all(wish, [&](const ops::RoundStatus& status) {
    if (console.shows_progress())
      console.progress(fmt::format("Examining  {} of {} processes done, {} running",
                                   status.examined, status.processes, status.running));
  }));
  if (form == Form::kJson)
    console.data(round.json());
  else
    console.data(ops::round_text(
        round, {.width = console.width(), .paint = [&](Tone tone, std::string_view text) {
                  return console.paint(tone, text);
                }}));
  return limit && round.has(*limit) ? kFailOnMatched : kDone;
}

void show(const ops::ExamineStatus& status, Console& console) {
  if (!console.shows_progress()) return;
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  if (status.concluding) return console.progress("Collecting method names, weighing evidence …");
  const auto whole = seconds(status.whole);
  const auto filled =
      static_cast<std::size_t>(16 * std::min(1.0, whole > 0 ? seconds(status.elapsed) / whole : 1));
  std::string bar;
  for (std::size_t i = 0; i < 16; ++i) bar += i < filled ? "▇" : "░";
  console.progress(fmt::format("Looking  {}  {:.0f} s of {:.0f}   {} looks   {} events", bar,
                               seconds(status.elapsed), whole, status.looks,
                               format_count(status.events)));
}

Result<int> run(const Args& args, Console& console) {
  const auto form = TRY(form_of(args));
  if (args.has("--list")) {
    console.data(form == Form::kJson ? doctor::registry_json()
                                     : ops::registry_text(console.width()));
    return kDone;
  }
  if (const auto id = args.text("--explain")) return explain(*id, console);
  if (args.has("--all")) return make_round(args, console);
  const auto limit = TRY(fail_on(args));
  auto wish = TRY(examine_wish(args));
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();
  const auto examination = TRY(ops::examine(
      wish, {.on_status = [&](const ops::ExamineStatus& status) { show(status, console); }}));
  switch (form) {
    case Form::kText:
      console.data(ops::doctor_text(
          examination, {.width = console.width(), .paint = [&](Tone tone, std::string_view text) {
                          return console.paint(tone, text);
                        }}));
      break;
    case Form::kJson:
      console.data(doctor::to_json(examination));
      break;
    case Form::kHtml:
      console.data(doctor::to_html(examination));
      break;
  }
  return limit && examination.diagnosis.has(*limit) ? kFailOnMatched : kDone;
}

const Options kOptions[] = {Options{kDoctor}, kCommonOptions};

}  // namespace

extern const Verb doctor_verb{
    .name = "doctor",
    .summary = "Says what is wrong with a process, how sure that is, and what to do",
    .usage = "(-p PID | -n NAME | --diagnostic-port SOCKET | -a | CORE) [options]",
    .options = kOptions,
    .examples =
        "  clrscope doctor -a --fail-on error\n"
        "  clrscope doctor -n Shop.Api --only CS1001,CS1204 --fail-on error",
    .run = run,
    .positionals = 1,
};

}  // namespace clrscope::cli
