#include "ops/check.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

std::string_view word(ops::Works works) {
  return works == ops::Works::kYes ? "yes" : works == ops::Works::kPartly ? "partly" : "no";
}

Tone tone(ops::Works works) {
  return works == ops::Works::kYes      ? Tone::kGood
         : works == ops::Works::kPartly ? Tone::kWarning
                                        : Tone::kHarm;
}

std::string as_json(const ops::CheckReport& report) {
  JsonWriter json;
  json.begin_object();
  if (report.process)
    json.member("pid", report.process->pid)
        .member("name", report.process->name)
        .member("runtime", report.process->runtime);
  json.key("sources").begin_array();
  for (const auto& row : report.rows) {
    json.begin_object()
        .member("id", row.id)
        .member("source", row.source)
        .member("works", word(row.works))
        .member("detail", row.detail);
    if (!row.hint.empty()) json.member("hint", row.hint);
    json.end_object();
  }
  json.end_array();
  if (report.rung)
    json.key("rung")
        .begin_object()
        .member("cpu", ops::to_string(report.rung->cpu))
        .member("kernelFrames", report.rung->kernel_frames)
        .member("waits", ops::to_string(report.rung->waits))
        .end_object();
  json.member("best", report.best).end_object();
  return json.text() + "\n";
}

std::string as_text(const ops::CheckReport& report, const Console& console) {
  std::string text;
  if (report.process)
    text += fmt::format("{} ({}), .NET {}\n", report.process->name, report.process->pid,
                        report.process->runtime);
  for (const auto& row : report.rows) {
    const std::string padding(8 - word(row.works).size(), ' ');
    text += fmt::format("  {:22}{}{}{}\n", row.source,
                        console.paint(tone(row.works), word(row.works)), padding, row.detail);
    if (!row.hint.empty())
      text += fmt::format("  {:30}{}\n", "", console.paint(Tone::kDim, "hint: " + row.hint));
  }
  if (report.rung) text += fmt::format("Rung: {}\n", ops::words_for(*report.rung));
  return text + fmt::format("Best recording here: {}\n", report.best);
}

Result<int> run(const Args& args, Console& console) {
  const auto wish = TRY(target_wish(args));
  const bool named = wish.pid || wish.name || wish.diagnostic_port;
  const auto report = TRY(ops::check(named ? std::optional{wish} : std::nullopt));
  console.data(args.has("--json") ? as_json(report) : as_text(report, console));
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
