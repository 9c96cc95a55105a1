// N+1 queries: one request sends the same database command over and over.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"perRequest", 10, "number of equal commands in quick succession within one request"},
};

// On one line, and not too long for it.
std::string short_text(std::string_view command) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (const char c : command) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
    if (out.size() < kMost) continue;
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty()) out.pop_back();
    return out + "…";
  }
  return out;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& facts = *evidence.commands;
  std::vector<Report> reports;
  for (const auto& one : facts.repeated) {
    if (static_cast<double>(one.most) < parameters["perRequest"]) break;  // the rest repeats less
    constexpr std::size_t kMost = 3;
    if (reports.size() >= kMost) break;
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
    report.title = fmt::format(
        "N+1 queries: {} sends the same database command {} times in one "
        "request",
        one.caller.method, one.most);
    report.summary =
        fmt::format("{} sent it {} in {}. Commands that differ in literals only count as equal.",
                    counted(one.units, "request"), counted(one.caller.count, "time"),
                    format_duration(facts.length));
    report.details.push_back("command: " + short_text(one.text));
    if (facts.cut)
      report.details.push_back(
          fmt::format("recorded for {} only: there were too many commands to record them longer",
                      format_duration(facts.length)));
    report.numbers = {
        {"mostPerRequest", static_cast<double>(one.most), "",
         fmt::format("{} in one request", counted(one.most, "command"))},
        {"commands", static_cast<double>(one.caller.count), "",
         counted(one.caller.count, "command")},
        {"requests", static_cast<double>(one.units), "", counted(one.units, "request")}};
    report.advice = fmt::format(
        "in {}: load the rows with one command: a join (Include in Entity Framework), or one "
        "command for all keys",
        one.caller.method);
    report.next = {remedy(evidence, "collect", {{"profile", "database"}}),
                   {"report", {{"report", "database"}}}};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding repeated_commands_finding{
    .id = "CS1704",
    .title = "N+1 queries",
    .description = "Database commands that one request sends over and over.",
    .needs = {.events = true,
              .commands = true,
              .files = true,
              .live = true,
              .least = std::chrono::seconds{2}},
    .price =
        "up to 0.05 % of the CPU time, in processes that use Entity Framework Core or "
        "SqlClient",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
