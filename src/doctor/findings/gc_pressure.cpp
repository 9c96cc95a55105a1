// Memory about to run out, or full collections that follow each other and free little.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/settings.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"limitPercent", 90, "share of the limit in use after a full collection"},
    {"fullPerSecond", 1, "full collections per second, induced ones not counted"},
};

std::vector<Report> near_limit(const Evidence& evidence, const GcFact& full, double percent) {
  const auto limit = heap_limit(evidence.process).value_or(0);
  if (limit == 0 || full.heap_bytes == 0) return {};
  const auto share = 100 * static_cast<double>(full.heap_bytes) / static_cast<double>(limit);
  if (share < percent) return {};
  Report report{.severity = Severity::kError,
                .confidence = Confidence::kCertain,
                .title = fmt::format("Memory about to run out: {} of {} in use after a full "
                                     "collection",
                                     format_bytes(full.heap_bytes), format_bytes(limit))};
  report.summary = fmt::format(
      "After collection #{} of generation {}, {:.0f} % of the allowed heap was still in use.",
      full.number, full.generation, share);
  report.numbers = {{"heapBytes", static_cast<double>(full.heap_bytes), "B",
                     fmt::format("heap {}", format_bytes(full.heap_bytes))},
                    {"limitBytes", static_cast<double>(limit), "B",
                     fmt::format("limit {}", format_bytes(limit))}};
  report.advice = "raise the limit, or take a heap dump and find what keeps the objects alive";
  report.next = {remedy(evidence, "dump", {{"type", "heap"}})};
  return {report};
}

std::vector<Report> full_collections(const Evidence& evidence, double per_second) {
  const auto& events = *evidence.events;
  std::size_t full = 0;
  std::chrono::nanoseconds paused{};
  for (const auto& gc : events.collections)
    if (gc.generation == 2 && !gc.induced) {
      ++full;
      paused += gc.pause;
    }
  const auto rate = static_cast<double>(full) / std::max(events.seconds(), 0.001);
  if (full < 3 || rate < per_second) return {};
  const auto heap = events.collections.back().heap_bytes;
  Report report{.severity = Severity::kWarning,
                .title = fmt::format("GC pressure: {:.1f} full collections a second", rate)};
  report.summary = fmt::format(
      "{} collections of generation 2 in {}: objects live just long enough to reach generation 2, "
      "or large objects are short-lived.",
      full, format_duration(events.length));
  if (heap > 0) report.details.push_back(fmt::format("heap {} at the end", format_bytes(heap)));
  std::size_t large = 0;
  for (const auto& gc : events.collections)
    if (gc.generation == 2 && (gc.reason == "AllocLarge" || gc.reason == "OutOfSpaceLOH")) ++large;
  if (large > 0)
    report.details.push_back(fmt::format("{} of them because of large objects", large));
  report.numbers = {
      {"fullCollectionsPerSecond", rate, "1/s",
       fmt::format("{:.1f} full collections a second", rate)},
      {"fullCollections", static_cast<double>(full), "", counted(full, "full collection")}};
  report.advice =
      large * 2 > full
          ? "reuse large buffers (ArrayPool, RecyclableMemoryStream) instead of allocating new ones"
          : "shorten the lifetime of caches and queues or limit their size; pool objects that are "
            "allocated repeatedly";
  return {report};
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& collections = evidence.events->collections;
  const auto last_full = std::find_if(collections.rbegin(), collections.rend(), [](const auto& gc) {
    return gc.generation == 2 && gc.heap_bytes > 0;
  });
  if (last_full != collections.rend())
    if (auto found = near_limit(evidence, *last_full, parameters["limitPercent"]); !found.empty())
      return found;
  return full_collections(evidence, parameters["fullPerSecond"]);
}

}  // namespace

extern const Finding gc_pressure_finding{
    .id = "CS1602",
    .title = "GC pressure",
    .description = "A heap near its limit, or full collections in quick succession.",
    .needs = {.events = true, .files = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "a few events for each collection",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
