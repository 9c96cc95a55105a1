#include "ops/check.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

Tone tone(ops::Works works) {
  return works == ops::Works::kYes      ? Tone::kGood
         : works == ops::Works::kPartly ? Tone::kWarning
                                        : Tone::kHarm;
}

std::string as_text(const ops::CheckReport& report, const Console& console) {
  std::string text;
  if (report.process)
    text += fmt::format("{} ({}), .NET {}\n", printable(report.process->name), report.process->pid,
                        report.process->runtime);
  for (const auto& row : report.rows) {
    const std::string padding(8 - ops::to_string(row.works).size(), ' ');
    text += fmt::format("  {:22}{}{}{}\n", row.source,
                        console.paint(tone(row.works), ops::to_string(row.works)), padding,
                        printable(row.detail));
    if (!row.hint.empty())
      text +=
          fmt::format("  {:30}{}\n", "", console.paint(Tone::kDim, "hint: " + printable(row.hint)));
  }
  if (report.rung) text += fmt::format("Rung: {}\n", ops::words_for(*report.rung));
  return text + fmt::format("Best recording here: {}\n", report.best);
}

Result<int> run(const Args& args, Console& console) {
  const auto wish = TRY(target_wish(args));
  const bool named = wish.pid || wish.name || wish.diagnostic_port;
  const auto report = TRY(ops::check(named ? std::optional{wish} : std::nullopt));
  console.data(args.has("--json") ? ops::to_json(report) : as_text(report, console));
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};

}  // namespace

extern const Verb check_verb{
    .name = "check",
    .summary = "Says which sources work here, why not, and the remedy",
    .usage = "[-p PID | -n NAME] [--json]",
    .options = kOptions,
    .examples = "  clrscope check\n  clrscope check -p 4312",
    .run = run,
};

}  // namespace clrscope::cli
