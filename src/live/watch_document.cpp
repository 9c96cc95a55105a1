#include "live/watch_document.h"

#include <fmt/format.h>

#include "base/text.h"

namespace clrscope::live {
namespace {

std::string name_of(WatchSeverity severity) {
  return std::string{names_of(severity)[static_cast<std::size_t>(severity)]};
}

std::string verdict_of(const WatchedProcess& one) {
  if (!one.reachable) return "unreachable: " + one.reason;
  if (!one.verdict.empty()) return one.verdict;
  if (!one.note.empty()) return one.note;
  return one.severity == WatchSeverity::kNone ? "no problem found" : "not checked yet";
}

std::string percent_of(const OrNull<double>& percent) {
  return percent.value ? fmt::format("{:.1f} %", *percent.value) : "unknown";
}

}  // namespace

Document watch_document(const std::vector<WatchedProcess>& processes) {
  if (processes.empty()) return {.summary = {"No .NET process is visible."}};
  DocumentTable table{
      .columns = {">PID", "NAME", ".NET", ">CPU", ">MEMORY", "SEVERITY", "VERDICT"}};
  for (const auto& one : processes)
    table.rows.push_back({std::to_string(one.pid), one.name, one.runtime,
                          percent_of(one.cpu_percent),
                          one.rss_bytes ? format_bytes(*one.rss_bytes) : "", name_of(one.severity),
                          verdict_of(one)});
  return {.summary = {fmt::format("{} .NET process{}, those in trouble first.", processes.size(),
                                  processes.size() == 1 ? "" : "es")},
          .tables = {std::move(table)}};
}

Document watch_document(const WatchAnswer& answer) {
  const auto& process = answer.process;
  Document page;
  page.summary.push_back(fmt::format("{} ({}), .NET {}: {}.", process.name, process.pid,
                                     process.runtime, verdict_of(process)));
  if (!answer.ended.empty()) page.summary.push_back("Ended: " + answer.ended + ".");
  if (answer.checked_ago)
    page.summary.push_back(fmt::format(
        "Checked {} ago, {} checks so far; CPU {}, memory {}.",
        format_duration(*answer.checked_ago), answer.looks, percent_of(process.cpu_percent),
        process.rss_bytes ? format_bytes(*process.rss_bytes) : "unknown"));
  for (const auto& finding : answer.findings) {
    page.blocks.emplace_back(Gap{});
    page.blocks.emplace_back(Heading{.text = fmt::format("{} {}", finding.id, finding.title)});
    if (!finding.summary.empty()) page.blocks.emplace_back(Paragraph{finding.summary, 2});
    if (!finding.advice.empty()) page.blocks.emplace_back(Paragraph{"Do: " + finding.advice, 2});
  }
  if (!answer.notes.empty()) page.blocks.emplace_back(Gap{});
  for (const auto& note : answer.notes) page.blocks.emplace_back(Paragraph{note});
  return page;
}

}  // namespace clrscope::live
