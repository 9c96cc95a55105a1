#include "ops/stacks.h"

#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kStacks[] = {
    {.name = "--native", .help = "native frames by name, and threads without managed code"},
    {.name = "--merged", .help = "threads with the same stack together, the largest group first"},
    {.name = "--lines", .help = "source files and lines, where PDBs are found"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "look for PDBs there too"},
    {.name = "--no-stop", .help = "never stop a thread, not even one that runs"},
    {.name = "--format", .value = "FORMAT", .help = "text (unless told), json or html"},
};

enum class Format { kText, kJson, kHtml };

Result<Format> format_of(const Args& args) {
  const auto text = args.text("--format");
  if (text && *text != "text" && *text != "json" && *text != "html")
    return fail(Errc::kUsage, "--format {} is none of stacks", *text).hint("text, json or html");
  if (args.has("--json") || (text && *text == "json")) return Format::kJson;
  return text && *text == "html" ? Format::kHtml : Format::kText;
}

Result<int> run(const Args& args, Console& console) {
  const auto format = TRY(format_of(args));
  ops::StacksWish wish{.target = TRY(target_wish(args))};
  if (!args.positionals().empty()) wish.core = args.positionals()[0];
  wish.look = {
      .native = args.has("--native"),
      .lines = args.has("--lines"),
      .stop = args.has("--no-stop") ? inspect::StopPolicy::kNever : inspect::StopPolicy::kBriefly,
      .symbol_folder = args.text("--symbol-dir").value_or("")};
  const auto seen = TRY(ops::take_stacks(wish));
  const ops::StacksStyle style{
      .view = args.has("--merged") ? ops::StacksView::kMerged : ops::StacksView::kThreads,
      .native = args.has("--native")};
  switch (format) {
    case Format::kJson:
      console.data(ops::stacks_json(seen));
      break;
    case Format::kHtml:
      console.data(ops::stacks_html(seen, style));
      break;
    case Format::kText:
      console.data(ops::stacks_text(seen, style));
      break;
  }
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kStacks}, kCommonOptions};

}  // namespace

extern const Verb stacks_verb{
    .name = "stacks",
    .summary = "Shows what every thread does, who holds which lock, who waits",
    .usage = "(-p PID | -n NAME | CORE-FILE) [--native] [--merged] [--lines] [--format FORMAT]",
    .options = kOptions,
    .examples = "  clrscope stacks -p 4312 --merged\n  clrscope stacks core.4312 --native",
    .run = run,
    .positionals = 1,
};

}  // namespace clrscope::cli
