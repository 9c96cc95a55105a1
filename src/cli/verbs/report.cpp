#include "ops/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>

#include "answer/text.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kReport[] = {
    {.name = "--process-id",
     .value = "PID",
     .help = "id of the process to report on (default: all)",
     .letter = 'p'},
    {.name = "--name",
     .value = "NAME",
     .help = "name of the processes to report on; * and ? are wildcards"},
    {.name = "--number",
     .value = "N",
     .help = "maximum number of rows of the longest table",
     .letter = 'n'},
    {.name = "--inclusive", .help = "topn: methods sorted by inclusive time"},
    {.name = "--lines", .help = "cpu, topn, waits: time by source line, if a PDB is found"},
    {.name = "--symbol-dir", .value = "FOLDER", .help = "additional folder to search for PDBs"},
};

std::string lower(std::string_view text) {
  std::string out{text};
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// A word is the name of a report, unless there is a file of that name.
const ops::ReportKind* kind_of(const std::string& word) {
  if (::access(word.c_str(), F_OK) == 0) return nullptr;
  return ops::find_report(lower(word));
}

Failure not_a_file(const std::string& word) {
  std::vector<std::string_view> names;
  for (const auto* kind : ops::report_kinds()) names.push_back(kind->name);
  auto failure = fail(Errc::kNotFound, "file '{}' not found", word);
  if (const auto meant = nearest(lower(word), names))
    return std::move(failure).hint("did you mean the report {}?", *meant);
  return std::move(failure).hint("available reports: {}", fmt::join(names, ", "));
}

Result<ops::ReportRequest> report_request(const Args& args) {
  ops::ReportRequest request;
  for (const auto& word : args.positionals()) {
    if (const auto* kind = kind_of(word)) {
      if (request.kind && request.kind != kind)
        return fail(Errc::kUsage, "more than one report given: {} and {}", request.kind->name,
                    kind->name)
            .hint("run clrscope report once per report");
      request.kind = kind;
    } else if (word != "-" && ::access(word.c_str(), F_OK) != 0 && !request.files.empty()) {
      return not_a_file(word);
    } else {
      request.files.push_back(word);
    }
  }
  if (request.files.empty())
    return fail(Errc::kUsage, "no trace given")
        .hint("run clrscope report FILE [REPORT]; - is stdin");
  if (!request.kind) request.kind = ops::find_report("overview");
  request.options.rows = TRY(args.number("--number", 1, 1'000'000)).value_or(0);
  request.options.inclusive = args.has("--inclusive");
  if (const auto pid = TRY(args.number("--process-id", 0, std::numeric_limits<pid_t>::max())))
    request.pids = {static_cast<pid_t>(*pid)};
  request.name = args.text("--name").value_or("");
  request.lines = {args.has("--lines"), TRY(symbol_folder(args))};
  return request;
}

// What to ask next, of the trace that was asked about.
Document named(Document page, const std::vector<std::string>& files) {
  constexpr std::string_view kFile = " FILE ";
  const auto at = page.next.find(kFile);
  if (files.size() == 1 && files[0] != "-" && at != std::string::npos)
    page.next.replace(at, kFile.size(), " " + printable(files[0]) + " ");
  return page;
}

Result<int> run(const Args& args, Console& console) {
  const auto request = TRY(report_request(args));
  const auto answer = TRY(ops::make_report(request));
  if (args.has("--json"))
    console.data(answer.json());
  else
    console.data(answer::page_text(named(answer.report->page(), request.files)));
  for (const auto& file : answer.files) {
    if (const auto line = ops::damage_line(file); !line.empty()) console.talk("clrscope: {}", line);
    if (file.summary.lost > 0)
      console.talk("clrscope: {}: {} events {}", file.path, format_count(file.summary.lost),
                   file.summary.damaged > 0
                       ? "are missing: lost during the recording, or in the unreadable part"
                       : "were lost during the recording");
  }
  if (const auto line = ops::missing_lines(*answer.lines); !line.empty())
    console.talk("clrscope: {}", line);
  return kDone;
}

const Options kOptions[] = {Options{kReport}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {{.value = ops::any_report}};

}  // namespace

extern const Verb report_verb{
    .name = "report",
    .summary = "Analyze a trace: CPU time by method, garbage collections, exceptions, locks",
    .usage =
        "FILE… [REPORT] [-p PID | --name NAME] [-n N] [--json]\n\n"
        "Reports: overview events topn cpu waits threads syscalls gc jit exceptions contention\n"
        "         threadpool thread-starts allocations database http dns tasks requests processes",
    .options = kOptions,
    .examples =
        "  clrscope report shop.nettrace gc --json | jq .totalPauseMs\n"
        "  clrscope report machine.nettrace exceptions -p 4312",
    .run = run,
    .positionals = 10000,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
