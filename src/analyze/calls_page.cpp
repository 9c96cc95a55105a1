#include "analyze/calls_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

// One line: commands are written over several.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  return line;
}

std::vector<std::pair<FrameId, OutcomeTimes>> ranked_callers(const Calls::Command& command) {
  std::vector<std::pair<FrameId, OutcomeTimes>> all{command.callers.begin(), command.callers.end()};
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.second.total; });
  return all;
}

}  // namespace

const Shape& shape_of(const Caller*) {
  static const auto shape =
      describe<Caller>("Caller", "place in the program that makes calls",
                       {members_of<&Caller::place>(), members_of<&Caller::times>()});
  return shape;
}

const Shape& shape_of(const CallTimes*) {
  using T = CallTimes;
  static const auto shape = describe<T>(
      "CallTimes", "calls of one kind: a database command, an address, a host name",
      {member<&T::what>("what", "the command, address or host name"), members_of<&T::times>(),
       member<&T::callers>("callers", "places that make these calls, longest total time first")});
  return shape;
}

const Shape& shape_of(const CallsAnswer*) {
  using A = CallsAnswer;
  static const auto shape = describe<A>(
      "CallsReport", "calls to the outside: how many, how long, from where",
      {members_of<&A::times>(), member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::calls>("calls", "kinds of calls, longest total time first")});
  return shape;
}

CallsAnswer CallsReport::result() const {
  CallsAnswer answer{.times = calls_.all(), .duration = calls_.span().length()};
  for (const auto* one : calls_.ranked()) {
    auto& call = answer.calls.emplace_back(CallTimes{one->first, one->second.times});
    for (const auto& [caller, times] : ranked_callers(one->second))
      call.callers.push_back({place_of(calls_.frame(caller)), times});
  }
  return answer;
}

Document CallsReport::page() const {
  const auto& all = calls_.all();
  if (all.count == 0)
    return {.summary = {fmt::format("No {} in this trace, or none was recorded.", words_.noun)},
            .next = fmt::format("Record them: {}", words_.next)};
  Document page;
  page.summary.push_back(fmt::format("{} in {}: {} in total, slowest {}.",
                                     counted(all.count, words_.noun),
                                     format_duration(calls_.span().length()),
                                     format_duration(all.total), format_duration(all.longest)));
  if (all.failed > 0) page.summary.push_back(fmt::format("{} failed.", count_text(all.failed)));
  if (all.unfinished > 0)
    page.summary.push_back(
        fmt::format("{} had not ended when the trace ended: their time so far is counted.",
                    count_text(all.unfinished)));
  DocumentTable table{.columns = {">COUNT", ">TOTAL", ">MEAN", ">SLOWEST", "CALLED IN",
                                  std::string{words_.column}}};
  const auto commands = calls_.ranked();
  const auto rows = std::min(commands.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [text, command] = *commands[i];
    const auto callers = ranked_callers(command);
    auto caller = callers.empty() ? std::string{"?"} : calls_.frame(callers.front().first).method;
    if (callers.size() > 1) caller += fmt::format(" + {}", callers.size() - 1);
    const auto& times = command.times;
    table.rows.push_back({count_text(times.count), format_duration(times.total),
                          format_duration(times.mean()), format_duration(times.longest),
                          std::move(caller), one_line(text)});
  }
  if (rows < commands.size())
    table.note = fmt::format("{} more: -n {}", commands.size() - rows, commands.size());
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace clrscope::analyze
