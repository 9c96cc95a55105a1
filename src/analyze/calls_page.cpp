#include "analyze/calls_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

void write_times(JsonWriter& json, const Calls::Times& times) {
  json.member("count", times.count)
      .member("failed", times.failed)
      .member("unfinished", times.unfinished)
      .member("totalMs", ms(times.total))
      .member("longestMs", ms(times.longest));
}

std::chrono::nanoseconds mean(const Calls::Times& times) {
  return times.total / static_cast<std::int64_t>(std::max<std::uint64_t>(1, times.count));
}

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

std::vector<std::pair<FrameId, Calls::Times>> ranked_callers(const Calls::Command& command) {
  std::vector<std::pair<FrameId, Calls::Times>> all{command.callers.begin(), command.callers.end()};
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.second.total; });
  return all;
}

}  // namespace

void CallsReport::write_members(JsonWriter& json) const {
  write_times(json, calls_.all());
  json.member("durationMs", ms(calls_.span().length())).key("calls").begin_array();
  for (const auto* one : calls_.ranked()) {
    const auto& [text, command] = *one;
    json.begin_object().member("what", text);
    write_times(json, command.times);
    json.key("callers").begin_array();
    for (const auto& [caller, times] : ranked_callers(command)) {
      json.begin_object()
          .member("method", calls_.frame(caller).method)
          .member("module", calls_.frame(caller).module);
      write_times(json, times);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

Page CallsReport::page() const {
  const auto& all = calls_.all();
  if (all.count == 0)
    return {.summary = {fmt::format("No {} was seen in this trace, or none was recorded.",
                                    words_.noun)},
            .next = fmt::format("Record them: {}", words_.next)};
  Page page;
  page.summary.push_back(fmt::format("{} in {:.1f} s: {} in all, slowest {}.",
                                     counted(all.count, words_.noun), calls_.span().seconds(),
                                     ms_text(all.total), ms_text(all.longest)));
  if (all.failed > 0) page.summary.push_back(fmt::format("{} failed.", count_text(all.failed)));
  if (all.unfinished > 0)
    page.summary.push_back(
        fmt::format("{} had not ended when the trace did: their time so far is counted.",
                    count_text(all.unfinished)));
  PageTable table{.columns = {">COUNT", ">TOTAL", ">MEAN", ">SLOWEST", "CALLED IN",
                              std::string{words_.column}}};
  const auto commands = calls_.ranked();
  const auto rows = std::min(commands.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [text, command] = *commands[i];
    const auto callers = ranked_callers(command);
    auto caller = callers.empty() ? std::string{"?"} : calls_.frame(callers.front().first).method;
    if (callers.size() > 1) caller += fmt::format(" + {}", callers.size() - 1);
    const auto& times = command.times;
    table.rows.push_back({count_text(times.count), ms_text(times.total), ms_text(mean(times)),
                          ms_text(times.longest), std::move(caller), one_line(text)});
  }
  if (rows < commands.size())
    table.note = fmt::format("{} more: -n {}", commands.size() - rows, commands.size());
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace clrscope::analyze
