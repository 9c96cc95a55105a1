#include "ops/heap.h"

#include <fmt/format.h>

#include "answer/text.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kHeap[] = {
    {.name = "--type",
     .value = "TYPE",
     .help = "objects of a type and what keeps them alive: a name, a part of it, or * and ?"},
    {.name = "--paths", .help = "with --type: the path from a root of every object listed"},
    {.name = "--dominators", .help = "dominator tree: what keeps what alive, with retained sizes"},
    {.name = "--strings", .help = "duplicate strings"},
    {.name = "--diff",
     .value = "FILE",
     .help = "what changed since an earlier snapshot: a .gcdump, a core or a trace"},
    {.name = "--output",
     .value = "FILE",
     .help = "also write the snapshot as a .gcdump; %p is replaced by the pid, %n by the name, %t "
             "by the time",
     .letter = 'o'},
    {.name = "--top", .value = "N", .help = "rows of each table (default: 20)"},
    {.name = "--force", .help = "take the snapshot even if it may not fit the memory limit"},
};

ops::HeapWatcher watcher_for(Console& console) {
  return {.on_price =
              [&console](std::string_view name, pid_t pid, const ops::HeapPrice& price) {
                if (price.source == HeapSource::kEvents)
                  console.talk(
                      "Heap of {} ({}) by the runtime's own events: a full collection, which "
                      "pauses the process for about {} to {}",
                      name, pid, format_duration(price.least_pause),
                      format_duration(price.most_pause));
                else
                  console.talk(
                      "Heap of {} ({}) from a frozen copy: pauses the process for about {} to {}; "
                      "it may take up to {} more memory meanwhile",
                      name, pid, format_duration(price.least_pause),
                      format_duration(price.most_pause), format_bytes(price.memory));
              },
          .on_step =
              [&console](std::string_view step) { console.progress(fmt::format("  {} …", step)); }};
}

Result<> check(const Args& args) {
  if (args.has("--type") && args.has("--diff"))
    return fail(Errc::kUsage, "--type and --diff cannot be used together");
  if (args.has("--paths") && !args.has("--type"))
    return fail(Errc::kUsage, "--paths requires --type")
        .hint("clrscope heap -p PID --type System.String --paths");
  if (args.text("--output").value_or("") == "-")
    return fail(Errc::kUsage, "-o must be a file").hint("the report goes to standard output");
  return {};
}

// As the next command names it.
std::string target_words(const Args& args) {
  if (!args.positionals().empty()) return args.positionals()[0];
  if (const auto pid = args.text("--process-id")) return "-p " + *pid;
  if (const auto name = args.text("--name")) return "-n " + *name;
  return "";
}

Result<int> run(const Args& args, Console& console) {
  TRY(check(args));
  ops::HeapRequest request{.target = TRY(target_request(args)),
                           .force = args.has("--force"),
                           .strings = args.has("--strings")};
  if (!args.positionals().empty()) request.file = args.positionals()[0];
  const auto rows = TRY(args.number("--top", 1, 100'000)).value_or(20);
  const ops::HeapStyle style{.rows = static_cast<std::size_t>(rows),
                             .dominators = args.has("--dominators"),
                             .strings = args.has("--strings"),
                             .paths = args.has("--paths"),
                             .target = target_words(args)};
  const auto watcher = watcher_for(console);
  std::optional<HeapSnapshot> earlier;  // first: a wrong file must not cost the process a pause
  if (const auto file = args.text("--diff"))
    earlier = TRY(ops::take_heap({.file = *file}, watcher));
  const auto heap = TRY(ops::take_heap(request, watcher));
  if (const auto wanted = args.text("--output")) {
    const auto file = ops::heap_file_name(*wanted, heap);
    watcher.on_step("writing the file");
    const auto bytes = TRY(ops::write_heap(heap, file));
    console.end_progress();
    console.talk("Wrote {}  {}", file, format_bytes(bytes));
  }
  watcher.on_step("computing what keeps objects alive");
  const ops::HeapReport report{heap};
  const auto print = [&](const auto& answer, const Document& page) {
    console.end_progress();
    console.data(args.has("--json") ? json_line(answer)
                                    : answer::page_text(page, console.text_style()));
  };
  if (earlier) {
    const ops::HeapReport before{*earlier};
    const auto diff = diff_heaps(before, report, std::max<std::size_t>(style.rows, 1000));
    print(diff, heap_diff_document(diff, style));
  } else if (const auto type = args.text("--type")) {
    const auto answer = TRY(report.type(*type, {.instances = std::max<std::size_t>(style.rows, 100),
                                                .paths = std::max<std::size_t>(style.rows, 50)}));
    print(answer, heap_type_document(answer, style));
  } else {
    const auto answer = report.answer({.types = std::max<std::size_t>(style.rows, 1000)});
    print(answer, heap_document(answer, style));
  }
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kHeap}, kCommonOptions};

constexpr JsonAnswer kAnswers[] = {
    answers_with<ops::HeapAnswer>(),
    answers_with<ops::HeapTypeAnswer>(JsonAnswer::Form::kObject, "--type"),
    answers_with<ops::HeapDiffAnswer>(JsonAnswer::Form::kObject, "--diff"),
};

}  // namespace

extern const Verb heap_verb{
    .name = "heap",
    .summary = "Show what is on the managed heap and what keeps it alive",
    .usage =
        "(-p PID | -n NAME | FILE) [--type TYPE [--paths]] [--dominators] [--strings] "
        "[--diff FILE] [-o FILE]",
    .options = kOptions,
    .examples =
        "  clrscope heap -p 4312 -o before.gcdump\n"
        "  clrscope heap -p 4312 --diff before.gcdump",
    .run = run,
    .positionals = 1,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
