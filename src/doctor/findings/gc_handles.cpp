// GC handles that nobody frees, or so many pinned objects that the collector cannot compact.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/growth.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"grown", 300, "number of additional handles while it was watched"},
    {"perSecond", 20, "additional handles per second"},
    {"pinned", 10000, "pinned objects that one collection meets"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  Series series;
  std::uint64_t pinned = 0;
  for (const auto& gc : evidence.events->collections)
    if (gc.heap_bytes > 0) {
      series.emplace_back(gc.start, static_cast<double>(gc.handles));
      pinned = gc.pinned_objects;
    }
  if (series.empty()) return {};
  const auto growth = growth_of(series);
  const bool grows = growth.steady && growth.total >= parameters["grown"] &&
                     growth.per_second >= parameters["perSecond"];
  const bool pins = static_cast<double>(pinned) >= parameters["pinned"];
  if (!grows && !pins) return {};

  const auto handles = series.back().second;
  Report report{.severity = grows ? Severity::kWarning : Severity::kInfo,
                .confidence = grows ? Confidence::kLikely : Confidence::kCertain};
  report.title = grows ? fmt::format("GC handles: {:.0f} more each second, {:.0f} now",
                                     growth.per_second, handles)
                       : fmt::format("Pinned objects: the last collection met {}", pinned);
  report.summary =
      grows ? fmt::format(
                  "{:.0f} were added between {} and none were freed on balance. Each keeps "
                  "an object alive, or in its place if it pins.",
                  growth.total, counted(series.size(), "collection"))
            : "The collector cannot move pinned objects: the heap gets holes that it cannot close.";
  report.details.push_back(
      fmt::format("the last collection met {}", counted(pinned, "pinned object")));
  report.numbers = {
      {"handles", handles, "", fmt::format("{:.0f} handles", handles)},
      {"handlesPerSecond", growth.per_second, "1/s",
       fmt::format("{:.0f} more each second", growth.per_second)},
      {"pinnedObjects", static_cast<double>(pinned), "", counted(pinned, "pinned object")}};
  report.advice =
      grows ? "free each GCHandle (in finally or Dispose); dispose timers, native callbacks and "
              "interop objects that hold one"
            : "pin for as short as possible (fixed), or allocate buffers for native code with "
              "GC.AllocateUninitializedArray(pinned: true)";
  return {report};
}

}  // namespace

extern const Finding gc_handles_finding{
    .id = "CS1604",
    .title = "GC handles",
    .description = "GC handles that grow in number, or very many pinned objects.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "a few events for each collection",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
