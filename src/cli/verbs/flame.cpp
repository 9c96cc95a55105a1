#include "ops/flame.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "http/flame_file.h"
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
     .help = "where to; %p pid, %n name, %t time; - is stdout",
     .letter = 'o'},
    {.name = "--duration", .value = "TIME", .help = "how long to record: 10s unless told"},
    {.name = "--trace", .value = "FILE", .help = "keep the recording too, as this .nettrace file"},
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second, 999 unless told"},
    {.name = "--all", .help = "every process of the machine", .letter = 'a'},
};

// A folder for a recording that nobody asked to keep.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create() {
    std::error_code error;
    auto path = (fs::temp_directory_path(error) / "clrscope-flame-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      return fail(Errc::kSystem, "cannot make a folder for the recording: {}", errno_text())
          .hint("set TMPDIR to a place that can be written, or keep it with --trace FILE");
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

std::string as_json(const ops::FlameRead& read, const Written& written) {
  const auto& graph = read.graph;
  JsonWriter json;
  json.begin_object().member("file", written.file).member("bytes", written.bytes);
  if (!written.trace.empty()) json.member("trace", written.trace);
  json.member("title", read.title).member("durationMs", graph.duration_ms);
  json.member("samples", graph.samples).member("waits", graph.waits);
  json.member("nodes", graph.nodes.size() - 1).member("functions", graph.names.size() - 1);
  json.member("threads", graph.threads.size()).member("lost", read.lost);
  if (read.broken_stacks) json.member("brokenStacks", *read.broken_stacks);
  json.member("withoutStack", graph.without_stack).member("folded", graph.folded);
  if (!read.damage.empty()) json.member("damage", read.damage);
  json.end_object();
  return json.text() + "\n";
}

Result<Written> write_file(const ops::FlameRead& read, const std::string& output) {
  const auto page = TRY(http::flame_file(read));
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
  if (read.broken_stacks && *read.broken_stacks > 0)
    console.talk("  {} stacks cut short", format_count(*read.broken_stacks));
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
    return fail(Errc::kUsage, "standard input has no name to make one of")
        .hint("say where to: -o FILE, or -o - for standard output");
  const auto name = ops::trace_stem(path == "-" ? "trace" : path) + ".html";
  if (output.empty()) output = name;
  if (output != "-" && fs::is_directory(output))
    output = (fs::path{output} / fs::path{name}.filename()).string();
  const auto read = TRY(ops::read_flame(path));
  if (read.graph.rows.empty()) return fail(ops::no_samples(read, path));
  auto written = TRY(write_file(read, output));
  if (path != "-") written.trace = path;
  return show(read, written, args, console);
}

Result<ops::RecordWish> record_wish(const Args& args, const std::string& trace) {
  ops::RecordWish wish{.target = TRY(machine_or_target(args))};
  wish.providers = provider_words(args);
  wish.duration = TRY(args.duration("--duration")).value_or(kDuration);
  wish.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(999));
  wish.whole_machine = args.has("--all");
  wish.output = trace;
  wish.compress = trace.ends_with(".zst");
  return wish;
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
          [&console, duration, seconds](const Process& process, const ops::Wish&) {
            console.talk("Recording {}{} for {:g} s", process.name,
                         process.pid > 0 ? fmt::format(" ({})", process.pid) : "",
                         seconds(duration));
          },
      .on_status =
          [&console, duration, seconds](const collect::StreamStatus& status) {
            if (!console.shows_progress()) return;
            if (status.phase == collect::Phase::kStopping)
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
  if (kept == "-")
    return fail(Errc::kUsage, "--trace - would mix with the talk").hint("give it a file's name");
  auto wish = TRY(record_wish(args, kept.empty() ? scratch.path() + "/a.nettrace" : kept));
  const StopRequest stop{wish.target.command.empty() ? EnterKey::kStops : EnterKey::kIgnored};
  wish.stop_fds = stop.fds();
  auto summary = TRY(ops::record(wish, watcher_of(console, *wish.duration)));
  console.end_progress();
  if (summary.outcome.ending == collect::Ending::kWriteFailed)
    return fail(Errc::kSystem, "cannot write {}: {}", summary.file,
                summary.outcome.error ? summary.outcome.error->what : "")
        .hint("free some space, or set TMPDIR to another place");
  for (const auto& note : summary.notes) console.talk("  {}", note);

  auto read = TRY(ops::read_flame(summary.file));
  read.broken_stacks = summary.broken_stacks;
  if (read.graph.rows.empty())
    return fail(Errc::kNotFound, "{} was not seen on a processor in {}",
                summary.process.pid > 0
                    ? fmt::format("process {} ({})", summary.process.pid, summary.process.name)
                    : "nothing",
                format_duration(summary.outcome.recorded))
        .hint("--profile thread-time also shows where threads wait; --duration records longer");
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
    return fail(Errc::kUsage, "a process or a trace, not both")
        .hint("run clrscope flame once for each");
  if (!target && args.positionals().empty())
    return fail(Errc::kUsage, "a flame graph of what?")
        .hint("clrscope flame -p PID, or clrscope flame FILE.nettrace");
  if (!target) return draw_trace(args, console);
  return draw_process(args, console);
}

const Options kOptions[] = {kTargetOptions, kProviderOptions, Options{kFlame}, kCommonOptions};

}  // namespace

extern const Verb flame_verb{
    .name = "flame",
    .summary = "Draws a flame graph of a process or a trace, as one HTML file",
    .usage = "(-p PID | -n NAME | -a | -- COMMAND ARGS… | FILE) [-o x.html] [--duration TIME]",
    .options = kOptions,
    .examples =
        "  clrscope flame -p 4312 -o shop.html\n"
        "  clrscope flame shop.nettrace.zst",
    .run = run,
    .positionals = 1,
    .takes_command = true,
};

}  // namespace clrscope::cli
