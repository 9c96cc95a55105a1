#include "ops/dump.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kDump[] = {
    {.name = "--type", .value = "TYPE", .help = "mini, triage, heap or full (default: full)"},
    {.name = "--output",
     .value = "FILE",
     .help = "output file; %p is replaced by the pid, %n by the name, %t by the time",
     .letter = 'o'},
};

Result<int> run(const Args& args, Console& console) {
  ops::DumpRequest request{.target = TRY(target_request(args)),
                           .output = args.text("--output").value_or("")};
  if (const auto type = args.text("--type")) request.type = TRY(ops::parse_dump_type(*type));
  if (request.output == "-")
    return fail(Errc::kUsage, "a dump cannot be written to stdout")
        .hint("give a file with -o FILE; the runtime writes it itself");

  std::uint64_t expected = 0;
  const ops::DumpWatcher watcher{
      .on_price =
          [&](const Process& process, const ops::DumpPrice& price, const std::string&) {
            expected = price.bytes;
            if (price.bytes == 0) {
              console.talk(
                  "Dumping {} ({}), {}: the process is paused meanwhile; size and duration are "
                  "unknown because its memory is not visible from here",
                  process.name, process.pid, ops::name_of(request.type));
              return;
            }
            console.talk(
                "Dumping {} ({}), {}: about {}; the process is paused for {} to {}, longer on a "
                "busy machine",
                process.name, process.pid, ops::name_of(request.type), format_bytes(price.bytes),
                format_duration(price.pause.least), format_duration(price.pause.most));
          },
      .on_progress =
          [&](std::uint64_t bytes, std::chrono::nanoseconds elapsed) {
            console.progress(fmt::format("  {} of about {}   {}", format_bytes(bytes),
                                         format_bytes(expected), format_duration(elapsed)));
          },
  };
  const auto summary = TRY(ops::dump(request, watcher));
  console.talk("Wrote {}  {}  in {}", summary.file, format_bytes(summary.bytes),
               format_duration(summary.took));
  if (!summary.note.empty()) console.talk("  {}", summary.note);
  if (args.has("--json")) console.data(json_line(answer_of(summary)));
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kDump}, kCommonOptions};

constexpr JsonAnswer kAnswers[] = {answers_with<ops::DumpAnswer>()};

}  // namespace

extern const Verb dump_verb{
    .name = "dump",
    .summary = "Write a core dump of a process",
    .usage = "(-p PID | -n NAME) [--type mini|triage|heap|full] [-o FILE]",
    .options = kOptions,
    .examples =
        "  clrscope dump -p 4312 --type heap\n  clrscope dump -n Shop.Api --type mini -o "
        "/var/tmp/shop.dmp",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
