#include "ops/dump.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kDump[] = {
    {.name = "--type", .value = "TYPE", .help = "mini, triage, heap or full (unless told: full)"},
    {.name = "--output",
     .value = "FILE",
     .help = "where to; %p pid, %n name, %t time",
     .letter = 'o'},
};

std::string as_json(const ops::DumpSummary& s) {
  JsonWriter json;
  json.begin_object().member("file", s.file).member("pid", s.process.pid).member("bytes", s.bytes);
  if (s.expected_bytes > 0) json.member("expectedBytes", s.expected_bytes);
  json.member("pauseMs", std::chrono::duration<double, std::milli>(s.took).count());
  if (!s.note.empty()) json.member("note", s.note);
  json.end_object();
  return json.text() + "\n";
}

Result<int> run(const Args& args, Console& console) {
  ops::DumpWish wish{.target = TRY(target_wish(args)),
                     .output = args.text("--output").value_or("")};
  if (const auto type = args.text("--type")) wish.type = TRY(ops::parse_dump_type(*type));
  if (wish.output == "-")
    return fail(Errc::kUsage, "a dump cannot go to stdout")
        .hint("the runtime writes it itself: -o FILE");

  std::uint64_t expected = 0;
  const ops::DumpWatcher watcher{
      .on_price =
          [&](const Process& process, const ops::DumpPrice& price, const std::string&) {
            expected = price.bytes;
            if (price.bytes == 0) {
              console.talk(
                  "Dumping {} ({}), {}: its memory cannot be seen from here, so that the size is "
                  "unknown, and how long the process stands still meanwhile",
                  process.name, process.pid, ops::name_of(wish.type));
              return;
            }
            console.talk(
                "Dumping {} ({}), {}: about {}; the process stands still meanwhile, {} to {}, "
                "longer "
                "on a busy machine",
                process.name, process.pid, ops::name_of(wish.type), format_bytes(price.bytes),
                format_duration(price.pause.least), format_duration(price.pause.most));
          },
      .on_progress =
          [&](std::uint64_t bytes, std::chrono::nanoseconds elapsed) {
            console.progress(fmt::format("  {} of about {}   {}", format_bytes(bytes),
                                         format_bytes(expected), format_duration(elapsed)));
          },
  };
  const auto summary = TRY(ops::dump(wish, watcher));
  console.talk("Wrote {}  {}  in {}", summary.file, format_bytes(summary.bytes),
               format_duration(summary.took));
  if (!summary.note.empty()) console.talk("  {}", summary.note);
  if (args.has("--json")) console.data(as_json(summary));
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kDump}, kCommonOptions};

}  // namespace

extern const Verb dump_verb{
    .name = "dump",
    .summary = "Writes a core dump of a process",
    .usage = "(-p PID | -n NAME) [--type mini|triage|heap|full] [-o FILE]",
    .options = kOptions,
    .examples =
        "  clrscope dump -p 4312 --type heap\n  clrscope dump -n Shop.Api --type mini -o "
        "/var/tmp/shop.dmp",
    .run = run,
};

}  // namespace clrscope::cli
