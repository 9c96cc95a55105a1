#include "doctor/calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr std::size_t kMostShown = 5;

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string line_of(const CallPlace& place, const SlowCallWords& words) {
  auto line =
      fmt::format("{}: {}, mean {}, longest {}", place.what, counted(place.calls, words.one),
                  format_duration(place.mean()), format_duration(place.longest));
  if (place.unfinished > 0) line += fmt::format(", {} not finished yet", place.unfinished);
  if (place.failed > 0) line += fmt::format(", {} failed", place.failed);
  return line;
}

}  // namespace

std::vector<Report> slow_calls(const Evidence& evidence, const std::vector<CallPlace>& places,
                               const SlowCallWords& words, double mean_ms, double least) {
  std::vector<const CallPlace*> slow;
  std::uint64_t all = 0;
  for (const auto& place : places) {
    all += place.calls;
    if (ms(place.mean()) >= mean_ms && static_cast<double>(place.calls) >= least)
      slow.push_back(&place);
  }
  if (slow.empty()) return {};
  const auto& worst = *slow.front();
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
  report.title = fmt::format("{} {} {}: {} on average", words.title, words.preposition, worst.what,
                             format_duration(worst.mean()));
  report.summary =
      fmt::format("{} {} {} in {}; the longest took {}{}.", counted(worst.calls, words.one),
                  words.preposition, worst.what, format_duration(evidence.calls->length),
                  format_duration(worst.longest), worst.unfinished == worst.calls ? " so far" : "");
  for (std::size_t i = 0; i < std::min(slow.size(), kMostShown); ++i) {
    report.details.push_back(line_of(*slow[i], words));
    if (!slow[i]->callers.empty())
      report.details.push_back("  from " + slow[i]->callers.front().method);
  }
  if (slow.size() > kMostShown)
    report.details.push_back(fmt::format("{} more", slow.size() - kMostShown));
  if (evidence.calls->cut)
    report.details.push_back(
        fmt::format("recorded for {} only: there were too many events to record them longer",
                    format_duration(evidence.calls->length)));
  report.numbers = {
      {"meanMs", ms(worst.mean()), "ms", format_duration(worst.mean()) + " on average"},
      {"longestMs", ms(worst.longest), "ms", "longest " + format_duration(worst.longest)},
      {"calls", static_cast<double>(worst.calls), "", counted(worst.calls, words.one)},
      {"callsToAll", static_cast<double>(all), "",
       fmt::format("{} in all", counted(all, words.one))}};
  report.advice = worst.callers.empty()
                      ? std::string{words.advice}
                      : fmt::format("in {}: {}", worst.callers.front().method, words.advice);
  report.next = {remedy(evidence, "collect", {{"profile", "http"}})};
  return {report};
}

}  // namespace clrscope::doctor
