#include "ops/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>

#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/page_text.h"

namespace clrscope::cli {
namespace {

constexpr Option kReport[] = {
    {.name = "--process-id", .value = "PID", .help = "only of this process", .letter = 'p'},
    {.name = "--name", .value = "NAME", .help = "only of processes of that name; * and ? allowed"},
    {.name = "--number", .value = "N", .help = "rows of the longest table", .letter = 'n'},
    {.name = "--inclusive", .help = "topn: by what a method and all it called took"},
    {.name = "--lines", .help = "cpu, topn, waits: by source line, where a PDB tells it"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "where else PDBs are looked for"},
};

std::string lower(std::string_view text) {
  std::string out{text};
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// A word is the name of a report, unless there is a file of that name.
const analyze::ReportKind* kind_of(const std::string& word) {
  if (::access(word.c_str(), F_OK) == 0) return nullptr;
  return analyze::find_report(lower(word));
}

Failure not_a_file(const std::string& word) {
  std::vector<std::string_view> names;
  for (const auto* kind : analyze::report_kinds()) names.push_back(kind->name);
  auto failure = fail(Errc::kNotFound, "there is no file '{}'", word);
  if (const auto meant = nearest(lower(word), names))
    return std::move(failure).hint("the report is called {}", *meant);
  return std::move(failure).hint("reports are {}", fmt::join(names, ", "));
}

Result<ops::ReportWish> report_wish(const Args& args) {
  ops::ReportWish wish;
  for (const auto& word : args.positionals()) {
    if (const auto* kind = kind_of(word)) {
      if (wish.kind && wish.kind != kind)
        return fail(Errc::kUsage, "one report at a time: {} or {}", wish.kind->name, kind->name)
            .hint("run clrscope report once for each");
      wish.kind = kind;
    } else if (word != "-" && ::access(word.c_str(), F_OK) != 0 && !wish.files.empty()) {
      return not_a_file(word);
    } else {
      wish.files.push_back(word);
    }
  }
  if (wish.files.empty())
    return fail(Errc::kUsage, "which trace?").hint("clrscope report FILE [REPORT]; - is stdin");
  if (!wish.kind) wish.kind = analyze::find_report("overview");
  wish.options.rows = TRY(args.number("--number", 1, 1'000'000)).value_or(0);
  wish.options.inclusive = args.has("--inclusive");
  if (const auto pid = TRY(args.number("--process-id", 0, std::numeric_limits<pid_t>::max())))
    wish.pids = {static_cast<pid_t>(*pid)};
  wish.name = args.text("--name").value_or("");
  wish.lines = {args.has("--lines"), TRY(symbol_folder(args))};
  return wish;
}

// What to ask next, of the trace that was asked about.
analyze::Page named(analyze::Page page, const std::vector<std::string>& files) {
  constexpr std::string_view kFile = " FILE ";
  const auto at = page.next.find(kFile);
  if (files.size() == 1 && files[0] != "-" && at != std::string::npos)
    page.next.replace(at, kFile.size(), " " + printable(files[0]) + " ");
  return page;
}

Result<int> run(const Args& args, Console& console) {
  const auto wish = TRY(report_wish(args));
  const auto answer = TRY(ops::make_report(wish));
  if (args.has("--json"))
    console.data(answer.json());
  else
    console.data(ops::page_text(named(answer.report->page(), wish.files)));
  for (const auto& file : answer.files) {
    if (const auto line = ops::damage_line(file); !line.empty()) console.talk("clrscope: {}", line);
    if (file.summary.lost > 0)
      console.talk("clrscope: {}: {} events {}", file.path, format_count(file.summary.lost),
                   file.summary.damaged > 0
                       ? "are missing: lost while it was recorded, or in what cannot be read"
                       : "were lost while it was recorded");
  }
  if (const auto line = ops::missing_lines(*answer.lines); !line.empty())
    console.talk("clrscope: {}", line);
  return kDone;
}

const Options kOptions[] = {Options{kReport}, kCommonOptions};

}  // namespace

extern const Verb report_verb{
    .name = "report",
    .summary = "Tells what a trace says: time by method, collections, exceptions, locks",
    .usage =
        "FILE… [REPORT] [-p PID | --name NAME] [-n N] [--json]\n\n"
        "Reports: overview events topn cpu waits threads syscalls gc jit exceptions contention\n"
        "         threadpool allocations database http dns tasks processes",
    .options = kOptions,
    .examples =
        "  clrscope report shop.nettrace gc --json | jq .totalPauseMs\n"
        "  clrscope report machine.nettrace exceptions -p 4312",
    .run = run,
    .positionals = 10000,
};

}  // namespace clrscope::cli
