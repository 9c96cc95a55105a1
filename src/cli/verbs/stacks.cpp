#include "ops/stacks.h"

#include <fmt/format.h>

#include "answer/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "http/single_file.h"
#include "ops/async_stacks.h"
#include "ops/requests.h"

namespace clrscope::cli {
namespace {

constexpr Option kStacks[] = {
    {.name = "--async",
     .help = "logical stacks of async methods instead of threads; pauses the process to copy its "
             "memory (usually 5 to 30 ms)"},
    {.name = "--over",
     .value = "TIME",
     .help = "with --async: two snapshots this far apart, to show what did not move"},
    {.name = "--requests",
     .help = "HTTP requests in flight of ASP.NET Core with their age, path, trace id and stack; "
             "pauses the process as --async does"},
    {.name = "--native", .help = "native frames too, and threads that run no managed code"},
    {.name = "--merged", .help = "threads with the same stack grouped, largest group first"},
    {.name = "--lines", .help = "source file and line of each frame, if a PDB is found"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "additional folder to search for PDBs"},
    {.name = "--no-stop", .help = "no thread is stopped, not even running ones"},
    {.name = "--format", .value = "FORMAT", .help = "text, json or html (default: text)"},
};

enum class Format { kText, kJson, kHtml };

Result<Format> format_of(const Args& args) {
  const auto text = args.text("--format");
  if (text && *text != "text" && *text != "json" && *text != "html")
    return fail(Errc::kUsage, "unknown format '{}'", *text).hint("use text, json or html");
  if (args.has("--json") || (text && *text == "json")) return Format::kJson;
  return text && *text == "html" ? Format::kHtml : Format::kText;
}

// Of --async and --requests: neither is about threads.
Result<> check_options(const Args& args, std::string_view mode, Format format) {
  for (const auto* option : {"--native", "--merged", "--lines", "--symbol-dir", "--no-stop"})
    if (args.has(option))
      return fail(Errc::kUsage, "{} does not apply to {}", option, mode)
          .hint("use it without {}, for the stacks of threads", mode);
  if (format == Format::kHtml)
    return fail(Errc::kUsage, "{} has no HTML report", mode).hint("use --format text or json");
  return {};
}

Result<int> run_requests(const Args& args, Console& console, Format format) {
  TRY(check_options(args, "--requests", format));
  if (args.has("--async") || args.has("--over"))
    return fail(Errc::kUsage, "--requests cannot be combined with --async or --over")
        .hint("use stacks --requests alone");
  ops::AsyncRequest request{.target = TRY(target_request(args))};
  if (!args.positionals().empty()) request.core = args.positionals()[0];
  const auto seen = TRY(ops::take_requests(request));
  auto whole = console.text_style();
  whole.width = answer::kWholeLines;
  console.data(format == Format::kJson ? ops::requests_json(seen)
                                       : answer::page_text(ops::requests_document(seen), whole));
  return kDone;
}

Result<int> run_async(const Args& args, Console& console, Format format) {
  TRY(check_options(args, "--async", format));
  ops::AsyncRequest request{.target = TRY(target_request(args)),
                            .over = TRY(args.duration("--over"))};
  if (!args.positionals().empty()) request.core = args.positionals()[0];
  const auto seen = TRY(ops::take_async_stacks(request));
  auto whole = console.text_style();
  whole.width = answer::kWholeLines;
  console.data(format == Format::kJson ? ops::async_json(seen)
                                       : answer::page_text(ops::async_document(seen), whole));
  return kDone;
}

Result<int> run(const Args& args, Console& console) {
  const auto format = TRY(format_of(args));
  if (args.has("--requests")) return run_requests(args, console, format);
  if (args.has("--async")) return run_async(args, console, format);
  if (args.has("--over"))
    return fail(Errc::kUsage, "--over requires --async").hint("use stacks --async --over 10s");
  ops::StacksRequest request{.target = TRY(target_request(args))};
  if (!args.positionals().empty()) request.core = args.positionals()[0];
  request.snapshot = {
      .native = args.has("--native"),
      .lines = args.has("--lines"),
      .stop = args.has("--no-stop") ? ops::StopPolicy::kNever : ops::StopPolicy::kBriefly,
      .symbol_folder = args.text("--symbol-dir").value_or("")};
  const auto seen = TRY(ops::take_stacks(request));
  const ops::StacksStyle style{
      .view = args.has("--merged") ? ops::StacksView::kMerged : ops::StacksView::kThreads,
      .native = args.has("--native")};
  auto whole = console.text_style();
  whole.width = answer::kWholeLines;  // names are searched for and copied
  switch (format) {
    case Format::kJson:
      console.data(ops::stacks_json(seen));
      break;
    case Format::kHtml:
      console.data(http::single_file({.kind = "stacks",
                                      .title = fmt::format("{} ({}) · stacks", seen.name, seen.pid),
                                      .text = ops::stacks_text(seen, style),
                                      .json = ops::stacks_json(seen)}));
      break;
    case Format::kText:
      console.data(answer::page_text(stacks_document(seen, style), whole));
      break;
  }
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kStacks}, kCommonOptions};

constexpr JsonAnswer kAnswers[] = {
    answers_with<ops::StacksAnswer>(),
    answers_with<ops::AsyncStacksAnswer>(JsonAnswer::Form::kObject, "--async"),
    answers_with<ops::RequestsAnswer>(JsonAnswer::Form::kObject, "--requests")};

}  // namespace

extern const Verb stacks_verb{
    .name = "stacks",
    .summary = "Show the stack of every thread, and which threads hold or wait for locks",
    .usage =
        "(-p PID | -n NAME | CORE-FILE) [--async | --requests] [--native] [--merged]\n"
        "[--lines] [--format FORMAT]",
    .options = kOptions,
    .examples = "  clrscope stacks -p 4312 --merged\n  clrscope stacks -p 4312 --async",
    .run = run,
    .positionals = 1,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
