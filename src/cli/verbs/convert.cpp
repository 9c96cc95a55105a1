#include "ops/convert.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "export/format.h"

namespace clrscope::cli {
namespace {

constexpr std::uint64_t kWorthProgress = 16 << 20;  // smaller files are done before one can look

constexpr Option kConvert[] = {
    {.name = "--format",
     .value = "FORMAT",
     .help = "speedscope, chromium, collapsed, ndjson, ctf or nettrace (rewritten as version 6)"},
    {.name = "--output",
     .value = "FILE",
     .help = "output file or folder; - is stdout (default: beside the input)",
     .letter = 'o'},
    {.name = "--lines", .help = "source file and line of each frame, if a PDB is found"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "additional folder to search for PDBs"},
};

struct ConvertAnswer {
  std::string file{};
  std::string_view format{};
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> samples{};
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::optional<std::string> damage{};
};
const Shape& shape_of(const ConvertAnswer*) {
  using A = ConvertAnswer;
  static const auto shape =
      describe<A>("Conversion", "a trace written in another format",
                  {member<&A::file>("file", "file that was written; - is standard output"),
                   member<&A::format>("format", "its format"),
                   member<&A::bytes>("bytes", Unit::kBytes, "its size"),
                   member<&A::samples>("samples", "samples written, for formats made of samples"),
                   member<&A::events>("events", "events read"),
                   member<&A::lost>("lost", "events lost while the trace was recorded"),
                   member<&A::damage>("damage", "what could not be read")});
  return shape;
}

std::string as_json(const ops::ConvertSummary& s) {
  return json_line(ConvertAnswer{.file = s.file,
                                 .format = s.format->name,
                                 .bytes = s.bytes,
                                 .samples = s.samples,
                                 .events = s.events,
                                 .lost = s.lost,
                                 .damage = unless_empty(s.damage)});
}

void sum_up(const ops::ConvertSummary& s, Console& console) {
  if (!s.damage.empty()) console.talk("clrscope: {}", s.damage);
  if (!s.missing_lines.empty()) console.talk("clrscope: {}", s.missing_lines);
  console.talk("Wrote {}  {}  {} {}  lost {}", s.file == "-" ? "standard output" : s.file,
               format_bytes(s.bytes), format_count(s.samples.value_or(s.events)),
               s.samples ? "samples" : "events", format_count(s.lost));
}

Result<std::vector<ops::ConvertRequest>> convert_requests(const Args& args) {
  const auto& files = args.positionals();
  if (files.empty())
    return fail(Errc::kUsage, "no trace given")
        .hint("run clrscope convert FILE --format speedscope");
  const auto name = args.text("--format");
  if (!name)
    return fail(Errc::kUsage, "--format is required")
        .hint("use --format speedscope, chromium, collapsed, ndjson, ctf or nettrace");
  const auto* format = TRY(ops::parse_format(*name));
  const auto output = args.text("--output").value_or("");
  if (files.size() > 1 && !output.empty() && !std::filesystem::is_directory(output))
    return fail(Errc::kUsage, "{} traces cannot be written to one file", files.size())
        .hint("convert one trace at a time, or give a folder with -o");
  std::vector<ops::ConvertRequest> requests;
  const ops::LinesOptions lines{args.has("--lines"), TRY(symbol_folder(args))};
  for (const auto& file : files) requests.push_back({file, format, output, lines});
  return requests;
}

Result<int> run(const Args& args, Console& console) {
  const ops::ConvertWatcher watcher{.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    if (console.shows_progress() && (total == 0 || total >= kWorthProgress))
      console.progress(total == 0 ? fmt::format("  {}", format_bytes(done))
                                  : fmt::format("  {} of {}   {} %", format_bytes(done),
                                                format_bytes(total), done * 100 / total));
  }};
  for (const auto& request : TRY(convert_requests(args))) {
    const auto summary = ops::convert(request, watcher);
    if (!summary) {
      // What the system refuses while we write is a failure of the run, not of its start.
      console.end_progress();
      log_error(summary.error());
      return summary.error().code == Errc::kSystem ? kFailedWhileRunning
                                                   : exit_code_of(summary.error());
    }
    sum_up(*summary, console);
    if (!args.has("--json")) continue;
    if (summary->file == "-")
      console.talk(trim(as_json(*summary)));
    else
      console.data(as_json(*summary));
  }
  return kDone;
}

const Options kOptions[] = {Options{kConvert}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ConvertAnswer>(JsonAnswer::Form::kLines)};

}  // namespace

extern const Verb convert_verb{
    .name = "convert",
    .summary = "Convert a trace to another format: speedscope, Perfetto, flame graphs, JSON lines",
    .usage = "FILE… --format speedscope|chromium|collapsed|ndjson|nettrace|ctf [-o OUT]",
    .options = kOptions,
    .examples =
        "  clrscope convert shop.nettrace --format speedscope\n"
        "  clrscope convert shop.nettrace --format collapsed -o - | flamegraph.pl > shop.svg",
    .run = run,
    .positionals = 10000,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
