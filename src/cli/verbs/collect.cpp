#include <fmt/format.h>
#include <signal.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/record.h"

namespace clrscope::cli {
namespace {

using collect::Ending;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kChildGrace{10};  // for a child that we ask to end

constexpr Option kCollect[] = {
    {.name = "--output",
     .value = "FILE",
     .help = "where to; %p pid, %n name, %t time; - is stdout",
     .letter = 'o'},
    {.name = "--duration", .value = "TIME", .help = "stop after this long: 30, 30s, 5m, 00:00:30"},
    {.name = "--max-size",
     .value = "SIZE",
     .help = "stop when the file is this large: 500MB (names still follow)"},
    {.name = "--last",
     .value = "TIME",
     .help = "flight recorder: keep only the last 60s, say, until it is stopped"},
    {.name = "--compress",
     .help = "write FILE.nettrace.zst (.zst is added to -o); all verbs that read traces take it"},
    {.name = "--stopping-event-provider-name",
     .value = "NAME",
     .help = "stop at an event of this provider"},
    {.name = "--stopping-event-event-name",
     .value = "NAME",
     .help = "of this name, such as GC/Start"},
    {.name = "--stopping-event-payload-filter",
     .value = "LIST",
     .help = "with field:value,field:value in its payload"},
    {.name = "--all",
     .help = "every process of the machine: CPU samples, and waits while they are cheap, unless "
             "told otherwise",
     .letter = 'a'},
    {.name = "--perf-events",
     .value = "LIST",
     .help = "events of the kernel: syscalls, syscalls:openat, sched:sched_process_exec, "
             "page-faults"},
    {.name = "--hardware-counters",
     .help = "count cycles, instructions, cache and branch misses, and what the kernel counts"},
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second, 999 unless told"},
    {.name = "--lines", .help = "also what report --lines needs to name source lines"},
    {.name = "--symbol-dir",
     .value = "FOLDER",
     .help = "where else names of native code are looked for"},
    {.name = "--buffersize", .value = "MB", .help = "buffer in the target, 256 unless told"},
    {.name = "--ring-size",
     .value = "SIZE",
     .help = "memory per CPU for what the kernel tells: 64MB; as it needs unless told"},
    {.name = "--rundown", .value = "BOOL", .help = "false: leave out the method names at the end"},
    {.name = "--resume-runtime",
     .value = "BOOL",
     .help = "false: a runtime that waits at its start goes on waiting"},
    {.name = "--show-child-io",
     .help = "show what the started command prints (it is shown anyway)"},
};

Result<std::optional<collect::StoppingEventWish>> stopping_event(const Args& args) {
  const auto provider = args.text("--stopping-event-provider-name");
  const auto event = args.text("--stopping-event-event-name");
  const auto filter = args.text("--stopping-event-payload-filter");
  if ((event || filter) && !provider)
    return fail(Errc::kUsage, "a stopping event needs --stopping-event-provider-name");
  if (filter && !event)
    return fail(Errc::kUsage, "--stopping-event-payload-filter needs --stopping-event-event-name");
  if (!provider) return std::nullopt;
  collect::StoppingEventWish wish{.provider = *provider, .event = event};
  if (filter) wish.fields = TRY(collect::parse_payload_filter(*filter));
  return wish;
}

Result<ops::RecordWish> record_wish(const Args& args) {
  ops::RecordWish wish{.target = TRY(machine_or_target(args))};
  wish.providers = provider_words(args);
  wish.providers.perf_events = args.all("--perf-events");
  wish.providers.lines = args.has("--lines");
  wish.output = args.text("--output").value_or("");
  wish.duration = TRY(args.duration("--duration"));
  wish.max_size = TRY(args.size("--max-size"));
  wish.last = TRY(args.duration("--last"));
  if (wish.last && wish.last->count() == 0)
    return fail(Errc::kUsage, "--last keeps nothing of no time").hint("--last 30s, say");
  wish.compress = args.has("--compress") || wish.output.ends_with(".zst");
  wish.whole_machine = args.has("--all");
  wish.count = args.has("--hardware-counters");
  wish.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(999));
  wish.symbol_folder = TRY(symbol_folder(args));
  wish.stopping_event = TRY(stopping_event(args));
  wish.buffer_mb =
      static_cast<std::uint32_t>(TRY(args.number("--buffersize", 1, 65536)).value_or(256));
  wish.ring_bytes = TRY(args.size("--ring-size")).value_or(0);
  if (wish.ring_bytes > (1U << 30))
    return fail(Errc::kUsage, "--ring-size is {} a CPU", format_bytes(wish.ring_bytes))
        .hint("1GB is the most");
  wish.rundown = TRY(args.truth("--rundown", true));
  wish.resume = TRY(args.truth("--resume-runtime", true));
  return wish;
}

std::string providers_line(const ops::Wish& wish) {
  std::vector<std::string> parts;
  if (wish.kernel != ops::KernelWish::kNothing) parts.push_back("CPU samples");
  if (wish.kernel == ops::KernelWish::kThreadTime) parts.push_back("waits");
  for (const auto& names : wish.perf_events) parts.push_back(names);
  for (const auto& one : wish.providers) parts.push_back(ops::provider_text(one.provider));
  std::vector<std::string_view> cheap;
  for (const auto& one : wish.while_cheap) cheap.push_back(one.what);
  if (!cheap.empty())
    parts.push_back(fmt::format("{} while they cost little", fmt::join(cheap, " and ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "▇▇▇▇░░░░  21 s of 30   3.1 k events/s   4.2 MB   lost 0"
class Progress {
 public:
  Progress(Console& console, std::optional<nanoseconds> duration)
      : console_(console), duration_(duration) {}

  void show(const collect::StreamStatus& status) {
    if (!console_.shows_progress()) return;
    const auto seconds = std::chrono::duration<double>(status.elapsed).count();
    const auto step = seconds - last_seconds_;
    if (step > 0.1) {
      rate_ = static_cast<double>(status.events - last_events_) / step;
      last_seconds_ = seconds;
      last_events_ = status.events;
    }
    const auto tail = fmt::format(
        "{} events/s   {} events   {}   lost {}", format_count(static_cast<std::uint64_t>(rate_)),
        format_count(status.events), format_bytes(status.bytes), format_count(status.lost));
    if (status.phase == collect::Phase::kStopping)
      console_.progress(fmt::format("Collecting method names …   {}",
                                    format_count(status.events - before_names_)));
    else
      before_names_ = status.events,
      console_.progress(fmt::format("  {}   {}", clock(seconds), tail));
  }

 private:
  std::string clock(double seconds) const {
    if (!duration_) return fmt::format("{:.0f} s, Enter or Ctrl+C stops", seconds);
    const auto whole = std::chrono::duration<double>(*duration_).count();
    const auto filled =
        static_cast<std::size_t>(16 * std::min(1.0, whole > 0 ? seconds / whole : 1));
    std::string bar;
    for (std::size_t i = 0; i < 16; ++i) bar += i < filled ? "▇" : "░";
    return fmt::format("{}  {:.0f} s of {:.0f}", bar, seconds, whole);
  }

  Console& console_;
  std::optional<nanoseconds> duration_;
  double last_seconds_ = 0;
  std::uint64_t last_events_ = 0;
  std::uint64_t before_names_ = 0;  // events until the stop
  double rate_ = 0;
};

std::string as_json(const ops::RecordSummary& s) {
  JsonWriter json;
  json.begin_object()
      .member("file", s.file)
      .member("pid", s.process.pid)
      .member("name", s.process.name);
  json.member("runtime", s.process.runtime)
      .member("durationMs", std::chrono::duration<double, std::milli>(s.outcome.recorded).count());
  json.member("events", s.events).member("samples", s.samples).member("lost", s.lost);
  json.member("bytes", s.bytes)
      .member("brokenStacks", s.broken_stacks)
      .member("ending", ops::ending_text(s));
  json.member("late", s.late);
  if (s.switches > 0) json.member("waits", s.switches);
  if (s.perf_events > 0) json.member("perfEvents", s.perf_events);
  if (s.broken_stacks > 0) {
    json.key("brokenByReason").begin_object();
    for (const auto& [reason, count] : s.broken_by_reason) json.member(reason, count);
    json.end_object();
  }
  if (!s.rewritten.empty()) json.member("rewritten", s.rewritten);
  json.key("notes").begin_array();
  for (const auto& note : s.notes) json.value(note);
  json.end_array();
  if (s.counts) {
    json.key("counts").begin_array();
    for (const auto& one : s.counts->counted)
      json.begin_object()
          .member("name", one.name)
          .member("value", one.value)
          .member("countedShare", one.share)
          .end_object();
    json.end_array();
    if (!s.counts->no_hardware.empty()) json.member("noHardwareCounters", s.counts->no_hardware);
  }
  json.key("cost").begin_object().member("cpuMs", s.cpu_ms).member("rssBytes", s.rss_bytes);
  if (s.program_cost)
    json.member("programCpusBefore", s.program_cost->cpus_before)
        .member("programCpusDuring", s.program_cost->cpus_during);
  json.end_object().end_object();
  return json.text() + "\n";
}

// What became of the recording, in words; the exit code of a recording that failed.
int explain(const ops::RecordSummary& s, Console& console) {
  switch (s.outcome.ending) {
    case Ending::kAsked:
      return kDone;
    case Ending::kTargetEnded:
      console.talk("{} ({}) ended; its recording is whole.", s.process.name, s.process.pid);
      return kDone;
    case Ending::kTargetDied:
      log_error(
          {Errc::kGone,
           fmt::format("process {} ({}) died while it was recorded", s.process.pid, s.process.name),
           std::string{"the file is whole up to its last block, "} +
               (s.rewritten.empty() && s.notes.empty()
                    ? "without the method names that come at its end"
                    : "with the method names known at its start")});
      return kFailedWhileRunning;
    case Ending::kNoAnswer:
      log_error({Errc::kTimeout,
                 fmt::format("process {} ({}) does not answer: stopped or hung", s.process.pid,
                             s.process.name),
                 fmt::format("the file is whole up to its last block, without method names; kill "
                             "-CONT {} if it is stopped",
                             s.process.pid)});
      return kFailedWhileRunning;
    case Ending::kWriteFailed:
      log_error(
          {Errc::kSystem,
           fmt::format("cannot write {}: {}", s.file, s.outcome.error ? s.outcome.error->what : ""),
           "what was written so far is whole up to its last block; free some space or choose "
           "another place with -o"});
      return kFailedWhileRunning;
  }
  return kInternalError;
}

// "stacks 98.7 % whole; cut short: 12 no rule, 3 the copy was too short"
std::string stacks_line(const ops::RecordSummary& s) {
  const auto all =
      static_cast<double>(std::max(s.samples + s.switches + s.perf_events, s.broken_stacks));
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : s.broken_by_reason)
    reasons.push_back(fmt::format("{} {}", format_count(count), reason));
  return fmt::format("stacks {:.1f} % whole; cut short: {}",
                     100 * (1 - static_cast<double>(s.broken_stacks) / all),
                     fmt::join(reasons, ", "));
}

void sum_up(const ops::RecordWish& wish, const ops::RecordSummary& s, Console& console) {
  console.talk("Wrote {}  {}  {} samples  {} events  lost {}", s.file, format_bytes(s.bytes),
               format_count(s.samples), format_count(s.events), format_count(s.lost));
  if (wish.compress && !wish.output.empty() && !wish.output.ends_with(".zst") &&
      s.file.ends_with(".zst"))
    console.talk("  compressed, so .zst was added to its name");
  if (s.late > 0)
    console.talk("  {} events came late: they are in the file, after later ones",
                 format_count(s.late));
  for (const auto& note : s.notes) console.talk("  {}", note);
  if (s.broken_stacks > 0) console.talk("  {}", stacks_line(s));
  if (!s.rewritten.empty()) console.talk("  rewritten as nettrace version 6: {}", s.rewritten);
  console.talk("  recorded {} · our own {} ms CPU, {}", format_duration(s.outcome.recorded),
               s.cpu_ms, format_bytes(s.rss_bytes));
  if (s.program_cost)
    console.talk("  {} used {:.2f} CPUs before, {:.2f} while it was recorded", s.process.name,
                 s.program_cost->cpus_before, s.program_cost->cpus_during);
  if (s.counts) {
    console.talk("  counted{}: {}", s.counts->user_only ? " (hardware: user code only)" : "",
                 collect::perf::words_for(*s.counts));
    if (!s.counts->no_hardware.empty())
      console.talk("  no hardware counters here: {}\n  hint: {}", s.counts->no_hardware,
                   s.counts->hint);
  }
  if (s.file != "-" && s.events > 0)
    console.talk("Next: clrscope {} {}", s.samples > 0 ? "flame" : "report", s.file);
}

// The started command: a signal of ours is passed on, one from the terminal it has got itself;
// after a limit it is asked to end.
int end_child(ops::Child& child, const ops::RecordSummary& s, const StopRequest& stop,
              Console& console) {
  if (const auto code = child.wait(nanoseconds{0})) return *code;
  const bool by_user = stop.signal() != 0;
  if (by_user && !stop.from_terminal()) child.signal(stop.signal());
  if (!by_user && s.outcome.ending == Ending::kAsked) {
    console.talk("Asking {} ({}) to end …", s.process.name, child.pid());
    child.signal(SIGTERM);
  }
  const auto code = child.wait(kChildGrace);
  if (!code)
    console.talk("{} ({}) is still running; it is left alone.", s.process.name, child.pid());
  return by_user || s.outcome.ending != Ending::kAsked ? code.value_or(kDone) : kDone;
}

Result<int> run(const Args& args, Console& console) {
  auto wish = TRY(record_wish(args));
  const StopRequest stop{wish.target.command.empty() ? EnterKey::kStops : EnterKey::kIgnored};
  wish.stop_fds = stop.fds();
  Progress progress{console, wish.duration};

  const ops::RecordWatcher watcher{
      .on_plan =
          [&](const ops::Plan& plan) {
            if (!plan.note.empty()) console.talk("{}", plan.note);
            if (!plan.note.empty() && !plan.hint.empty()) console.talk("  hint: {}", plan.hint);
            for (const auto& missing : plan.rung.missing) {
              console.talk("{}", missing.what);
              if (!missing.hint.empty()) console.talk("  hint: {}", missing.hint);
            }
          },
      .on_start =
          [&](const Process& process, const ops::Wish& providers) {
            console.talk("Recording {}{}: {}", process.name,
                         process.pid > 0 ? fmt::format(" ({})", process.pid) : "",
                         providers_line(providers));
          },
      .on_status = [&](const collect::StreamStatus& status) { progress.show(status); },
  };
  const auto summary = TRY(ops::record(wish, watcher));

  const int code = explain(summary, console);
  sum_up(wish, summary, console);
  if (args.has("--json")) {
    if (summary.file == "-")
      console.talk(std::string_view{as_json(summary)});
    else
      console.data(as_json(summary));
  }
  const int child_code = summary.child ? end_child(*summary.child, summary, stop, console) : kDone;
  return code != kDone ? code : child_code;
}

const Options kOptions[] = {kTargetOptions, kProviderOptions, Options{kCollect}, kCommonOptions};

}  // namespace

extern const Verb collect_verb{
    .name = "collect",
    .summary = "Records a trace of a process or of the machine into a .nettrace file",
    .usage = "(-p PID | -n NAME | -a | --diagnostic-port PATH | -- COMMAND ARGS…) [options]",
    .options = kOptions,
    .examples =
        "  clrscope collect -a --profile thread-time --duration 10s -o machine.nettrace\n"
        "  clrscope collect --profile gc-collect -o start.nettrace -- dotnet Shop.dll",
    .run = run,
    .takes_command = true,
    .alias = "record",
};

}  // namespace clrscope::cli
