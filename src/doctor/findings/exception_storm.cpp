// Exceptions thrown all the time: each costs tens of microseconds and hides the one that matters.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/agent_evidence.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"perSecond", 25, "exceptions per second that count as a storm"},
};
constexpr std::size_t kShown = 3;

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& events = *evidence.events;
  const auto length = events.exceptions_counted.value_or(events.length);
  if (length.count() <= 0 || events.thrown.empty()) return {};
  const auto rate =
      static_cast<double>(events.exceptions) / std::chrono::duration<double>{length}.count();
  // A burst of a few within a short time is not a storm.
  if (rate < parameters["perSecond"] || events.exceptions < 10) return {};
  const auto& first = events.thrown.front();
  Report report{.severity = Severity::kWarning,
                .title = fmt::format("Exception storm: {:.0f} exceptions a second, most of them {}",
                                     rate, first.type)};
  report.numbers = {
      {"exceptionsPerSecond", rate, "1/s", fmt::format("{:.1f} a second", rate)},
      {"exceptions", static_cast<double>(events.exceptions), "",
       fmt::format("{} in {}", counted(events.exceptions, "exception"), format_duration(length))}};
  std::uint64_t recorded = 0;
  for (const auto& type : events.thrown) recorded += type.count;
  for (std::size_t i = 0; i < std::min(kShown, events.thrown.size()); ++i) {
    const auto& type = events.thrown[i];
    const auto share = static_cast<double>(type.count) / static_cast<double>(recorded);
    auto line = fmt::format("{:.1f}/s {}", share * rate, type.type);
    if (!type.places.empty()) line += fmt::format("  thrown in {}", type.places.front().method);
    report.details.push_back(std::move(line));
    if (!type.message.empty()) report.details.push_back(fmt::format("    \"{}\"", type.message));
    add_throws(report, evidence, type.type);
  }
  report.summary = fmt::format(
      "{} of {} types were thrown while it was watched. Each one unwinds the stack, whether it is "
      "caught or not.",
      counted(events.exceptions, "exception"), events.thrown.size());
  if (events.exceptions_recorded)
    report.summary += fmt::format(
        " Types and places cover the first {} only; after that, exceptions were counted but not "
        "recorded, to limit the overhead.",
        format_duration(*events.exceptions_recorded));
  report.advice = first.places.empty() ? "test first (TryParse, TryGetValue, Exists), or return a "
                                         "result instead of throwing where the case is common"
                                       : fmt::format(
                                             "make {} report the common case without throwing "
                                             "(TryParse, TryGetValue, a result type)",
                                             first.places.front().method);
  return {report};
}

}  // namespace

extern const Finding exception_storm_finding{
    .id = "CS1501",
    .title = "exception storm",
    .description = "Exceptions thrown at a rate that costs CPU time and hides the important ones.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "an event with a stack for each exception",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
