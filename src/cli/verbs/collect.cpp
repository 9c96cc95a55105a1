#include <fmt/format.h>
#include <signal.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/record_answer.h"

namespace clrscope::cli {
namespace {

using ops::Ending;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kChildGrace{10};  // for a child that we ask to end

constexpr Option kCollect[] = {
    {.name = "--output",
     .value = "FILE",
     .help = "output file; %p is replaced by the pid, %n by the name, %t by the time; - is stdout",
     .letter = 'o'},
    {.name = "--duration",
     .value = "TIME",
     .help = "length of the recording: 30, 30s, 5m, 00:00:30 (default: until stopped)"},
    {.name = "--max-size",
     .value = "SIZE",
     .help = "file size that ends the recording, such as 500MB; method names are added after it"},
    {.name = "--last",
     .value = "TIME",
     .help = "flight recorder: only this much time before the stop is kept, such as 60s"},
    {.name = "--compress",
     .help = "compressed output: FILE.nettrace.zst, which all verbs can read"},
    {.name = "--stopping-event-provider-name",
     .value = "NAME",
     .help = "provider of the event that stops the recording"},
    {.name = "--stopping-event-event-name",
     .value = "NAME",
     .help = "name of the event that stops the recording, such as GC/Start"},
    {.name = "--stopping-event-payload-filter",
     .value = "LIST",
     .help = "fields the event must have: field:value,field:value"},
    {.name = "--all",
     .help = "all processes of the machine (default: CPU samples, and waits while there are few)",
     .letter = 'a'},
    {.name = "--perf-events",
     .value = "LIST",
     .help = "kernel events: syscalls, syscalls:openat, sched:sched_process_exec, page-faults"},
    {.name = "--hardware-counters",
     .help = "counts of cycles, instructions, cache and branch misses, and the kernel's software "
             "counters"},
    kSamplerOption,
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second (default: 499)"},
    {.name = "--lines", .help = "extra events that report --lines needs for source lines"},
    {.name = "--symbol-dir",
     .value = "FOLDER",
     .help = "additional folder to search for native symbols"},
    {.name = "--buffersize", .value = "MB", .help = "event buffer in the target (default: 256)"},
    {.name = "--ring-size",
     .value = "SIZE",
     .help = "memory per CPU for kernel samples, such as 64MB (default: as needed)"},
    {.name = "--rundown",
     .value = "BOOL",
     .help = "whether method names are added at the end (default: true)"},
    {.name = "--resume-runtime",
     .value = "BOOL",
     .help = "whether a runtime suspended at startup is resumed (default: true)"},
    {.name = "--show-child-io",
     .help = "output of the started command is shown (always on; for compatibility)"},
};

Result<std::optional<ops::StoppingEventRequest>> stopping_event(const Args& args) {
  const auto provider = args.text("--stopping-event-provider-name");
  const auto event = args.text("--stopping-event-event-name");
  const auto filter = args.text("--stopping-event-payload-filter");
  if ((event || filter) && !provider)
    return fail(Errc::kUsage, "--stopping-event-provider-name is required for a stopping event");
  if (filter && !event)
    return fail(Errc::kUsage,
                "--stopping-event-payload-filter requires --stopping-event-event-name");
  if (!provider) return std::nullopt;
  ops::StoppingEventRequest request{.provider = *provider, .event = event};
  if (filter) request.fields = TRY(ops::parse_payload_filter(*filter));
  return request;
}

Result<ops::RecordRequest> record_request(const Args& args) {
  ops::RecordRequest request{.target = TRY(machine_or_target(args))};
  request.providers = provider_words(args);
  request.providers.perf_events = args.all("--perf-events");
  request.providers.lines = args.has("--lines");
  request.output = args.text("--output").value_or("");
  request.duration = TRY(args.duration("--duration"));
  request.max_size = TRY(args.size("--max-size"));
  request.last = TRY(args.duration("--last"));
  if (request.last && request.last->count() == 0)
    return fail(Errc::kUsage, "--last must be greater than zero")
        .hint("use --last 30s, for example");
  request.compress = args.has("--compress") || request.output.ends_with(".zst");
  request.whole_machine = args.has("--all");
  request.count = args.has("--hardware-counters");
  request.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(kUsualRate));
  request.sampler = TRY(sampler_of(args));
  request.may_load_agent = true;
  request.symbol_folder = TRY(symbol_folder(args));
  request.stopping_event = TRY(stopping_event(args));
  request.buffer_mb =
      static_cast<std::uint32_t>(TRY(args.number("--buffersize", 1, 65536)).value_or(256));
  request.ring_bytes = TRY(args.size("--ring-size")).value_or(0);
  if (request.ring_bytes > (1U << 30))
    return fail(Errc::kUsage, "--ring-size {} is too large", format_bytes(request.ring_bytes))
        .hint("use 1GB or less per CPU");
  request.rundown = TRY(args.truth("--rundown", true));
  request.resume = TRY(args.truth("--resume-runtime", true));
  return request;
}

std::string providers_line(const ops::EventSelection& request) {
  std::vector<std::string> parts;
  if (request.kernel != ops::KernelData::kNothing) parts.push_back("CPU samples");
  if (request.kernel == ops::KernelData::kThreadTime) parts.push_back("waits");
  for (const auto& names : request.perf_events) parts.push_back(names);
  for (const auto& one : request.providers) parts.push_back(ops::provider_text(one.provider));
  std::vector<std::string_view> cheap;
  for (const auto& one : request.while_cheap) cheap.push_back(one.what);
  if (!cheap.empty())
    parts.push_back(fmt::format("{} while there are few", fmt::join(cheap, " and ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "▇▇▇▇░░░░  21 s of 30   3.1 k events/s   4.2 MB   lost 0"
class Progress {
 public:
  Progress(Console& console, std::optional<nanoseconds> duration)
      : console_(console), duration_(duration) {}

  void show(const ops::StreamStatus& status) {
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
    if (status.phase == ops::Phase::kStopping)
      console_.progress(fmt::format("Collecting method names …   {}",
                                    format_count(status.events - before_names_)));
    else
      before_names_ = status.events,
      console_.progress(fmt::format("  {}   {}", clock(seconds), tail));
  }

 private:
  std::string clock(double seconds) const {
    if (!duration_) return fmt::format("{:.0f} s, press Enter or Ctrl+C to stop", seconds);
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

// What became of the recording, in words; the exit code of a recording that failed.
int explain(const ops::RecordSummary& s, Console& console) {
  switch (s.outcome.ending) {
    case Ending::kAsked:
      return kDone;
    case Ending::kTargetEnded:
      console.talk("{} ({}) ended; the recording is complete.", s.process.name, s.process.pid);
      return kDone;
    case Ending::kTargetDied:
      log_error(
          {Errc::kGone,
           fmt::format("process {} ({}) died during the recording", s.process.pid, s.process.name),
           std::string{"the file is readable up to its last block, "} +
               (s.rewritten.empty() && s.notes.empty()
                    ? "without the method names that are added at its end"
                    : "with the method names known at its start")});
      return kFailedWhileRunning;
    case Ending::kNoAnswer:
      log_error({Errc::kTimeout,
                 fmt::format("process {} ({}) does not respond: it is stopped or hung",
                             s.process.pid, s.process.name),
                 fmt::format("run kill -CONT {} if it is stopped; the file is readable up to its "
                             "last block, without method names",
                             s.process.pid)});
      return kFailedWhileRunning;
    case Ending::kWriteFailed:
      log_error(
          {Errc::kSystem,
           fmt::format("cannot write {}: {}", s.file, s.outcome.error ? s.outcome.error->what : ""),
           "free some space or choose another place with -o; the file is readable up to its last "
           "block"});
      return kFailedWhileRunning;
  }
  return kInternalError;
}

// "stacks 98.7 % complete; truncated: 12 no rule, 3 the copy was too short"
std::string stacks_line(const ops::RecordSummary& s) {
  const auto all =
      static_cast<double>(std::max(s.samples + s.switches + s.perf_events, s.broken_stacks));
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : s.broken_by_reason)
    reasons.push_back(fmt::format("{} {}", format_count(count), reason));
  return fmt::format("stacks {:.1f} % complete; truncated: {}",
                     100 * (1 - static_cast<double>(s.broken_stacks) / all),
                     fmt::join(reasons, ", "));
}

void sum_up(const ops::RecordRequest& request, const ops::RecordSummary& s, Console& console) {
  console.talk("Wrote {}  {}  {} samples  {} events  lost {}", s.file, format_bytes(s.bytes),
               format_count(s.samples), format_count(s.events), format_count(s.lost));
  if (request.compress && !request.output.empty() && !request.output.ends_with(".zst") &&
      s.file.ends_with(".zst"))
    console.talk("  .zst was added to the file name because the file is compressed");
  if (s.late > 0)
    console.talk("  {} events arrived late and are out of order in the file", format_count(s.late));
  for (const auto& note : s.notes) console.talk("  {}", note);
  if (s.broken_stacks > 0) console.talk("  {}", stacks_line(s));
  if (!s.rewritten.empty()) console.talk("  rewritten as nettrace version 6: {}", s.rewritten);
  console.talk("  recorded {} · clrscope used {} of CPU time, {}",
               format_duration(s.outcome.recorded),
               format_duration(std::chrono::milliseconds{static_cast<std::int64_t>(s.cpu_ms)}),
               format_bytes(s.rss_bytes));
  if (s.program_cost)
    console.talk("  {} used {:.2f} CPUs before the recording, {:.2f} during it", s.process.name,
                 s.program_cost->cpus_before, s.program_cost->cpus_during);
  if (s.counts) {
    console.talk("  counted{}: {}", s.counts->user_only ? " (hardware: user code only)" : "",
                 ops::words_for(*s.counts));
    if (!s.counts->no_hardware.empty())
      console.talk("  hardware counters are unavailable: {}\n  hint: {}", s.counts->no_hardware,
                   s.counts->hint);
  }
  if (s.file != "-" && s.events > 0)
    console.talk("Next: clrscope {} {}{}", s.samples > 0 ? "flame" : "report", s.file,
                 request.providers.profiles == "tasks" ? " tasks" : "");
}

// The started command: a signal of ours is passed on, one from the terminal it has got itself;
// after a limit it is asked to end.
int end_child(ops::Child& child, const ops::RecordSummary& s, const StopRequest& stop,
              Console& console) {
  if (const auto code = child.wait(nanoseconds{0})) return *code;
  const bool by_user = stop.signal() != 0;
  if (by_user && !stop.from_terminal()) child.signal(stop.signal());
  if (!by_user && s.outcome.ending == Ending::kAsked) {
    console.talk("Stopping {} ({}) …", s.process.name, child.pid());
    child.signal(SIGTERM);
  }
  const auto code = child.wait(kChildGrace);
  if (!code) console.talk("{} ({}) is still running.", s.process.name, child.pid());
  return by_user || s.outcome.ending != Ending::kAsked ? code.value_or(kDone) : kDone;
}

Result<int> run(const Args& args, Console& console) {
  auto request = TRY(record_request(args));
  const StopRequest stop{request.target.command.empty() ? EnterKey::kStops : EnterKey::kIgnored};
  request.stop_fds = stop.fds();
  Progress progress{console, request.duration};

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
          [&](const Process& process, const ops::EventSelection& providers) {
            console.talk("Recording {}{}: {}", process.name,
                         process.pid > 0 ? fmt::format(" ({})", process.pid) : "",
                         providers_line(providers));
          },
      .on_status = [&](const ops::StreamStatus& status) { progress.show(status); },
  };
  const auto summary = TRY(ops::record(request, watcher));

  const int code = explain(summary, console);
  sum_up(request, summary, console);
  if (args.has("--json")) {
    const auto answer = json_line(ops::answer_of(summary));
    summary.file == "-" ? console.talk(trim(answer)) : console.data(answer);
  }
  const int child_code = summary.child ? end_child(*summary.child, summary, stop, console) : kDone;
  return code != kDone ? code : child_code;
}

const Options kOptions[] = {kTargetOptions, kProviderOptions, Options{kCollect}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ops::RecordAnswer>()};

}  // namespace

extern const Verb collect_verb{
    .name = "collect",
    .summary = "Record a trace of a process or the whole machine to a .nettrace file",
    .usage = "(-p PID | -n NAME | -a | --diagnostic-port PATH | -- COMMAND ARGS…) [options]",
    .options = kOptions,
    .examples =
        "  clrscope collect -a --profile thread-time --duration 10s -o machine.nettrace\n"
        "  clrscope collect --profile gc-collect -o start.nettrace -- dotnet Shop.dll",
    .run = run,
    .takes_command = true,
    .alias = "record",
    .answers = kAnswers,
};

}  // namespace clrscope::cli
