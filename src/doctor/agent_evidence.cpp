#include "doctor/agent_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr std::size_t kMostFrames = 6;

const AgentPlace* find(const std::vector<AgentPlace>& places, std::string_view what) {
  const auto found = std::ranges::find(places, what, &AgentPlace::what);
  return found == places.end() ? nullptr : &*found;
}

void add_stack(Report& report, const AgentPlace& place) {
  for (std::size_t i = 0; i < std::min(kMostFrames, place.stack.size()); ++i)
    report.details.push_back("      " + place.stack[i]);
  if (place.stack.size() > kMostFrames)
    report.details.push_back(
        fmt::format("      and {}", counted(place.stack.size() - kMostFrames, "more frame")));
}

}  // namespace

void add_throws(Report& report, const Evidence& evidence, std::string_view type) {
  if (!evidence.agent) return;
  const auto* place = find(evidence.agent->exceptions, type);
  if (!place) return;
  report.details.push_back(
      place->caught > 0
          ? fmt::format("    agent: {} of {} caught, after {} on average, {} at most, in {}",
                        place->caught, place->count, format_duration(place->mean),
                        format_duration(place->longest), place->method)
          : fmt::format("    agent: {} thrown, none of them caught by managed code", place->count));
  if (place->caught > 0)
    report.numbers.push_back({"toCatchMs",
                              std::chrono::duration<double, std::milli>(place->mean).count(), "ms",
                              format_duration(place->mean) + " from throw to catch, by the agent"});
  add_stack(report, *place);
}

void add_lock_owner(Report& report, const Evidence& evidence, std::string_view method) {
  if (!evidence.agent) return;
  // Names of other sources have argument types.
  const auto& locks = evidence.agent->locks;
  const auto bare = method.substr(0, method.find('('));
  const auto* place = find(locks, bare);
  if (!place) return;
  auto line = fmt::format("    agent: {} waits, {} the longest", place->count,
                          format_duration(place->longest));
  if (place->owner != 0) line += fmt::format("; thread {} had the lock most often", place->owner);
  report.details.push_back(std::move(line));
  add_stack(report, *place);
}

void add_allocation_stack(Report& report, const Evidence& evidence, std::string_view type) {
  if (!evidence.agent) return;
  const auto* place = find(evidence.agent->allocations, type);
  if (!place) return;
  report.details.push_back(fmt::format("    agent: {} of {} allocated in {}, at",
                                       format_bytes(place->bytes), type,
                                       format_duration(evidence.agent->length)));
  add_stack(report, *place);
}

}  // namespace clrscope::doctor
