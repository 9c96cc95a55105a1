// Timers that are started all the time and never disposed.
#include <fmt/format.h>

#include "doctor/growth.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"timers", 1000, "number of active timers from which on growth counts"},
    {"perSecond", 10, "additional timers per second"},
    {"many", 20000, "number of active timers that is reported without growth"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto* timers = evidence.events->counter("System.Runtime/active-timer-count");
  if (!timers) return {};
  Series series;
  for (const auto value : timers->values)
    series.emplace_back(std::chrono::seconds{series.size()}, value);
  const auto growth = growth_of(series);
  const auto now = timers->last();
  const bool grows =
      growth.steady && growth.per_second >= parameters["perSecond"] && now >= parameters["timers"];
  if (!grows && now < parameters["many"]) return {};
  Report report{.severity = grows ? Severity::kWarning : Severity::kInfo,
                .confidence = grows ? Confidence::kLikely : Confidence::kCertain};
  report.title = grows
                     ? fmt::format("Timer flood: {:.0f} timers are active, {:.0f} more each second",
                                   now, growth.per_second)
                     : fmt::format("Timer flood: {:.0f} timers are active", now);
  report.summary =
      "Each active timer keeps its callback and all that it refers to alive, and each tick takes a "
      "thread of the pool.";
  report.numbers = {{"timers", now, "", fmt::format("{:.0f} active timers", now)},
                    {"timersPerSecond", growth.per_second, "1/s",
                     fmt::format("{:.0f} more each second", growth.per_second)}};
  report.advice =
      "dispose each Timer and CancellationTokenSource with a timeout; use one periodic timer for "
      "many sessions instead of one for each";
  return {report};
}

}  // namespace

extern const Finding timer_flood_finding{
    .id = "CS1207",
    .title = "timer flood",
    .description = "Very many active timers, or timers that grow in number.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{3}},
    .price = "a few counters each second",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
