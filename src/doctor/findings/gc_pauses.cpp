// The program stands still for the garbage collector: too much of the time, or too long at once.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 10, "share of time in pauses that counts as damage"},
    {"longestMs", 500, "length of a single pause that counts as damage"},
};

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& events = *evidence.events;
  if (events.collections.empty() || events.length.count() <= 0) return {};
  const auto percent = 100 * ms(events.gc_paused) / ms(events.length);
  const auto worst = std::ranges::max_element(events.collections, {}, &GcFact::longest_pause);
  const bool often = percent >= parameters["percent"] && events.collections.size() > 1;
  const bool long_one = ms(worst->longest_pause) >= parameters["longestMs"];
  if (!often && !long_one) return {};

  const auto induced =
      static_cast<std::size_t>(std::ranges::count_if(events.collections, &GcFact::induced));
  const bool by_program = induced * 2 > events.collections.size();
  Report report{.severity = Severity::kWarning};
  report.title = often
                     ? fmt::format("GC pauses: the program is paused {:.0f} % of the time", percent)
                     : fmt::format("GC pauses: the program was paused for {} at once",
                                   format_duration(worst->longest_pause));
  report.summary =
      fmt::format("{} paused it for {} of {}; the longest, #{} of generation {} ({}), lasted {}.",
                  counted(events.collections.size(), "collection"),
                  format_duration(events.gc_paused), format_duration(events.length), worst->number,
                  worst->generation, worst->reason, format_duration(worst->longest_pause));
  std::map<std::pair<std::uint32_t, std::string>, std::pair<std::size_t, std::chrono::nanoseconds>>
      groups;
  for (const auto& gc : events.collections) {
    auto& [count, paused] = groups[{gc.generation, gc.reason}];
    ++count;
    paused += gc.pause;
  }
  for (const auto& [key, sum] : groups)
    report.details.push_back(fmt::format("{} × generation {}, {}: {}", sum.first, key.first,
                                         key.second, format_duration(sum.second)));
  report.numbers = {
      {"percentTimeInGc", percent, "%", fmt::format("{:.1f} % of the time", percent)},
      {"longestPauseMs", ms(worst->longest_pause), "ms",
       "longest pause " + format_duration(worst->longest_pause)},
      {"collections", static_cast<double>(events.collections.size()), "",
       counted(events.collections.size(), "collection")},
      {"induced", static_cast<double>(induced), "", fmt::format("{} of them induced", induced)}};
  report.advice =
      by_program ? "remove calls to GC.Collect: they cause most of the collections"
                 : "allocate less on hot paths and keep short-lived data short-lived; use server "
                   "GC or a larger limit if memory allows";
  if (!by_program)
    report.next = {remedy(evidence, "collect", {{"profile", "gc-verbose"}}),
                   {"report", {{"report", "allocations"}}}};
  return {report};
}

}  // namespace

extern const Finding gc_pauses_finding{
    .id = "CS1601",
    .title = "GC pauses",
    .description = "Time in which garbage collection pauses the whole program.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "a few events for each collection",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
