#include "ops/flame.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "http/single_file.h"
#include "ops/convert.h"
#include "ops/output.h"
#include "ops/output_file.h"
#include "ops/record.h"

namespace clrscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDuration{10};

constexpr Option kFlame[] = {
    {.name = "--output",
     .value = "FILE",
     .help = "output file; %p is replaced by the pid, %n by the name, %t by the time; - is stdout; "
             ".json: the data without the viewer",
     .letter = 'o'},
    {.name = "--route",
     .value = "ROUTE",
     .help =
         "of FILE: CPU samples of the requests of this route alone, such as 'GET /orders/{id}'"},
    {.name = "--duration", .value = "TIME", .help = "length of the recording (default: 10s)"},
    {.name = "--trace", .value = "FILE", .help = "file that keeps the recording as .nettrace"},
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second (default: 499)"},
    kSamplerOption,
    {.name = "--all", .help = "all processes of the machine", .letter = 'a'},
};

// A folder for a recording that nobody asked to keep.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create() {
    std::error_code error;
    auto path = (fs::temp_directory_path(error) / "clrscope-flame-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      return fail(Errc::kSystem, "cannot create a temporary folder for the recording: {}",
                  errno_text())
          .hint("set TMPDIR to a writable folder, or use --trace FILE");
    return ScratchFolder{path};
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code gone;
    if (!path_.empty()) fs::remove_all(path_, gone);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Written {
  std::string file;
  std::string trace{};  // that was kept or given
  std::uint64_t bytes = 0;
};

struct FlameAnswer {
  std::string file{};
  std::uint64_t bytes = 0;
  std::optional<std::string> trace{};
  std::string title{};
  double duration_ms = 0;
  std::uint64_t samples = 0;
  std::uint64_t waits = 0;
  std::uint64_t nodes = 0;
  std::uint64_t functions = 0;
  std::uint64_t threads = 0;
  std::uint64_t lost = 0;
  std::optional<std::uint64_t> broken_stacks{};
  std::uint64_t without_stack = 0;
  std::uint64_t folded = 0;
  std::optional<std::string> damage{};
  std::optional<ops::RouteSamples> route{};
};
const Shape& shape_of(const FlameAnswer*) {
  using A = FlameAnswer;
  static const auto shape = describe<A>(
      "FlameFile", "a flame graph written as HTML",
      {member<&A::file>("file", "file that was written; - is standard output"),
       member<&A::bytes>("bytes", Unit::kBytes, "its size"),
       member<&A::trace>("trace", "trace it was made from, if kept"),
       member<&A::title>("title", "process or file it shows"),
       member<&A::duration_ms>("durationMs", Unit::kMs, "time it covers"),
       member<&A::samples>("samples", "CPU samples"),
       member<&A::waits>("waits", "waits of threads"),
       member<&A::nodes>("nodes", "nodes of the graph"),
       member<&A::functions>("functions", "distinct functions"),
       member<&A::threads>("threads", "threads"),
       member<&A::lost>("lost", "events lost while recording"),
       member<&A::broken_stacks>("brokenStacks", "stacks that do not reach their root"),
       member<&A::without_stack>("withoutStack", "samples without a stack"),
       member<&A::folded>("folded", "nodes folded into their parents because they were small"),
       member<&A::damage>("damage", "what could not be read"),
       member<&A::route>("route", "the route whose CPU samples these are, if it is only that")});
  return shape;
}

std::string as_json(const ops::FlameRead& read, const Written& written) {
  const auto& graph = read.graph;
  return json_line(FlameAnswer{.file = written.file,
                               .bytes = written.bytes,
                               .trace = unless_empty(written.trace),
                               .title = read.title,
                               .duration_ms = graph.duration_ms,
                               .samples = graph.samples,
                               .waits = graph.waits,
                               .nodes = graph.nodes.size() - 1,
                               .functions = graph.names.size() - 1,
                               .threads = graph.threads.size(),
                               .lost = read.lost,
                               .broken_stacks = read.broken_stacks,
                               .without_stack = graph.without_stack,
                               .folded = graph.folded,
                               .damage = unless_empty(read.damage),
                               .route = read.route});
}

Result<Written> write_file(const ops::FlameRead& read, const std::string& output) {
  const auto page = output.ends_with(".json") ? ops::flame_json(read) : http::flame_file(read);
  auto file = TRY(ops::OutputFile::create(output));
  TRY(write_all(file.fd(), as_bytes(page)));
  TRY(file.commit());
  return Written{.file = output, .bytes = page.size()};
}

void sum_up(const ops::FlameRead& read, const Written& written, Console& console) {
  if (!read.damage.empty()) console.talk("clrscope: {}", read.damage);
  console.talk("Wrote {}  {}  {} samples  {} waits  lost {}",
               written.file == "-" ? "standard output" : written.file, format_bytes(written.bytes),
               format_count(read.graph.samples), format_count(read.graph.waits),
               format_count(read.lost));
  if (read.route) console.talk("{}", ops::route_line(*read.route));
  if (read.broken_stacks && *read.broken_stacks > 0)
    console.talk("  {} stacks truncated", format_count(*read.broken_stacks));
  if (written.file != "-") console.talk("Next: open {} in a browser", written.file);
}

int show(const ops::FlameRead& read, const Written& written, const Args& args, Console& console) {
  sum_up(read, written, console);
  if (args.has("--json")) {
    if (written.file == "-")
      console.talk(trim(as_json(read, written)));
    else
      console.data(as_json(read, written));
  }
  return kDone;
}

Result<int> draw_trace(const Args& args, Console& console) {
  const auto& path = args.positionals()[0];
  auto output = args.text("--output").value_or("");
  if (path == "-" && output.empty())
    return fail(Errc::kUsage, "an output file is required when the trace is read from stdin")
        .hint("use -o FILE, or -o - for stdout");
  const auto name = ops::trace_stem(path == "-" ? "trace" : path) + ".html";
  if (output.empty()) output = name;
  if (output != "-" && fs::is_directory(output))
    output = (fs::path{output} / fs::path{name}.filename()).string();
  const auto route = args.text("--route");
  const auto read = TRY(route ? ops::read_route_flame(path, *route) : ops::read_flame(path));
  if (read.graph.rows.empty()) return fail(ops::no_samples(read, path));
  auto written = TRY(write_file(read, output));
  if (path != "-") written.trace = path;
  return show(read, written, args, console);
}

Result<ops::RecordRequest> record_request(const Args& args, const std::string& trace) {
  ops::RecordRequest request{.target = TRY(machine_or_target(args))};
  request.providers = provider_words(args);
  request.duration = TRY(args.duration("--duration")).value_or(kDuration);
  request.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(kUsualRate));
  request.whole_machine = args.has("--all");
  request.sampler = TRY(sampler_of(args));
  request.may_load_agent = true;
  request.output = trace;
  request.compress = trace.ends_with(".zst");
  return request;
}

ops::RecordWatcher watcher_of(Console& console, std::chrono::nanoseconds duration) {
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  return {
      .on_plan =
          [&console](const ops::Plan& plan) {
            if (!plan.note.empty()) console.talk("{}", plan.note);
            if (!plan.note.empty() && !plan.hint.empty()) console.talk("  hint: {}", plan.hint);
          },
      .on_start =
          [&console, duration, seconds](const Process& process, const ops::EventSelection&) {
            console.talk("Recording {}{} for {:g} s", process.name,
                         process.pid > 0 ? fmt::format(" ({})", process.pid) : "",
                         seconds(duration));
          },
      .on_status =
          [&console, duration, seconds](const ops::StreamStatus& status) {
            if (!console.shows_progress()) return;
            if (status.phase == ops::Phase::kStopping)
              console.progress("Collecting method names …");
            else
              console.progress(fmt::format("  {:.0f} s of {:.0f}   {} events   lost {}",
                                           seconds(status.elapsed), seconds(duration),
                                           format_count(status.events), format_count(status.lost)));
          },
  };
}

Result<int> draw_process(const Args& args, Console& console) {
  const auto scratch = TRY(ScratchFolder::create());
  const auto kept = args.text("--trace").value_or("");
  if (kept == "-") return fail(Errc::kUsage, "--trace cannot be stdout").hint("use --trace FILE");
  auto request = TRY(record_request(args, kept.empty() ? scratch.path() + "/a.nettrace" : kept));
  const StopRequest stop{request.target.command.empty() ? EnterKey::kStops : EnterKey::kIgnored};
  request.stop_fds = stop.fds();
  auto summary = TRY(ops::record(request, watcher_of(console, *request.duration)));
  console.end_progress();
  if (summary.outcome.ending == ops::Ending::kWriteFailed)
    return fail(Errc::kSystem, "cannot write {}: {}", summary.file,
                summary.outcome.error ? summary.outcome.error->what : "")
        .hint("free some space, or set TMPDIR to another folder");
  for (const auto& note : summary.notes) console.talk("  {}", note);

  auto read = TRY(ops::read_flame(summary.file));
  read.broken_stacks = summary.broken_stacks;
  if (read.graph.rows.empty())
    return fail(Errc::kNotFound, "{} used no CPU in {}",
                summary.process.pid > 0
                    ? fmt::format("process {} ({})", summary.process.pid, summary.process.name)
                    : "nothing",
                format_duration(summary.outcome.recorded))
        .hint("use --profile thread-time to see where threads wait, or a longer --duration");
  auto written = TRY(write_file(
      read, ops::expand_output(args.text("--output").value_or(""), summary.process, ".html")));
  written.trace = kept.empty() ? "" : summary.file;
  if (summary.child && stop.signal() == 0) summary.child->signal(SIGTERM);
  return show(read, written, args, console);
}

Result<int> run(const Args& args, Console& console) {
  const bool target = args.has("--process-id") || args.has("--name") || args.has("--all") ||
                      args.has("--diagnostic-port") || !args.command().empty();
  if (target && !args.positionals().empty())
    return fail(Errc::kUsage, "both a process and a trace given")
        .hint("run clrscope flame once per process or trace");
  if (!target && args.positionals().empty())
    return fail(Errc::kUsage, "no process or trace given")
        .hint("run clrscope flame -p PID, or clrscope flame FILE.nettrace");
  if (!target) return draw_trace(args, console);
  if (args.has("--route"))
    return fail(Errc::kUsage, "--route needs a recording of requests, not a process")
        .hint(
            "record with clrscope requests -p PID --include PATTERN -o FILE.nettrace, then run "
            "clrscope flame FILE.nettrace --route ROUTE");
  return draw_process(args, console);
}

const Options kOptions[] = {kTargetOptions, kProviderOptions, Options{kFlame}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<FlameAnswer>()};

}  // namespace

extern const Verb flame_verb{
    .name = "flame",
    .summary = "Write a flame graph of a process or a trace as a single HTML file",
    .usage = "(-p PID | -n NAME | -a | -- COMMAND ARGS… | FILE) [-o x.html] [--duration TIME]",
    .options = kOptions,
    .examples =
        "  clrscope flame -p 4312 -o shop.html\n"
        "  clrscope flame requests.nettrace --route 'GET /orders/{id}'",
    .run = run,
    .positionals = 1,
    .takes_command = true,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
