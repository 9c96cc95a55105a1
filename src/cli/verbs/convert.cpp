#include "ops/convert.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/json.h"
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
     .help = "speedscope, chromium, collapsed, ndjson, ctf or nettrace (the same as version 6)"},
    {.name = "--output",
     .value = "FILE",
     .help = "where to; a folder: in it; - is stdout (unless told: beside the input)",
     .letter = 'o'},
    {.name = "--lines", .help = "with file and line of each frame, where a PDB tells them"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "where else PDBs are looked for"},
};

std::string as_json(const ops::ConvertSummary& s) {
  JsonWriter json;
  json.begin_object().member("file", s.file).member("format", s.format->name);
  json.member("bytes", s.bytes);
  if (s.samples) json.member("samples", *s.samples);
  json.member("events", s.events).member("lost", s.lost);
  if (!s.damage.empty()) json.member("damage", s.damage);
  json.end_object();
  return json.text() + "\n";
}

void sum_up(const ops::ConvertSummary& s, Console& console) {
  if (!s.damage.empty()) console.talk("clrscope: {}", s.damage);
  if (!s.missing_lines.empty()) console.talk("clrscope: {}", s.missing_lines);
  console.talk("Wrote {}  {}  {} {}  lost {}", s.file == "-" ? "standard output" : s.file,
               format_bytes(s.bytes), format_count(s.samples.value_or(s.events)),
               s.samples ? "samples" : "events", format_count(s.lost));
}

Result<std::vector<ops::ConvertWish>> convert_wishes(const Args& args) {
  const auto& files = args.positionals();
  if (files.empty())
    return fail(Errc::kUsage, "which trace?").hint("clrscope convert FILE --format speedscope");
  const auto name = args.text("--format");
  if (!name)
    return fail(Errc::kUsage, "which format?")
        .hint("--format speedscope, chromium, collapsed, ndjson, ctf or nettrace");
  const auto* format = TRY(ops::parse_format(*name));
  const auto output = args.text("--output").value_or("");
  if (files.size() > 1 && !output.empty() && !std::filesystem::is_directory(output))
    return fail(Errc::kUsage, "{} traces cannot go to one output", files.size())
        .hint("convert one at a time, or give a folder with -o");
  std::vector<ops::ConvertWish> wishes;
  const ops::LinesWish lines{args.has("--lines"), TRY(symbol_folder(args))};
  for (const auto& file : files) wishes.push_back({file, format, output, lines});
  return wishes;
}

Result<int> run(const Args& args, Console& console) {
  const ops::ConvertWatcher watcher{.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    if (console.shows_progress() && (total == 0 || total >= kWorthProgress))
      console.progress(total == 0 ? fmt::format("  {}", format_bytes(done))
                                  : fmt::format("  {} of {}   {} %", format_bytes(done),
                                                format_bytes(total), done * 100 / total));
  }};
  for (const auto& wish : TRY(convert_wishes(args))) {
    const auto summary = ops::convert(wish, watcher);
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

}  // namespace

extern const Verb convert_verb{
    .name = "convert",
    .summary = "Writes a trace in another format: speedscope, Perfetto, flame graphs, JSON lines",
    .usage = "FILE… --format speedscope|chromium|collapsed|ndjson|nettrace|ctf [-o OUT]",
    .options = kOptions,
    .examples =
        "  clrscope convert shop.nettrace --format speedscope\n"
        "  clrscope convert shop.nettrace --format collapsed -o - | flamegraph.pl > shop.svg",
    .run = run,
    .positionals = 10000,
};

}  // namespace clrscope::cli
