// A heap with more holes than objects.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 50, "share of the heap that is free space between objects"},
    {"leastMB", 64, "free space between objects, in MB, below which nothing is said"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& events = *evidence.events;
  const auto* percent = events.counter("System.Runtime/gc-fragmentation");
  const auto* large = events.counter("System.Runtime/loh-size");
  const auto* gen2 = events.counter("System.Runtime/gen-2-size");
  if (!percent || !large || !gen2) return {};
  // Sizes with their holes, as the last collection left them.
  const auto heap = large->last() + gen2->last();
  const auto holes = heap * percent->last() / 100;
  if (percent->last() < parameters["percent"] || holes < parameters["leastMB"] * 1e6) return {};

  const bool of_large = large->last() * 2 >= heap;
  const auto bytes = [](double value) { return format_bytes(static_cast<std::uint64_t>(value)); };
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
  report.title = fmt::format("{} fragmentation: {:.0f} % of the heap is free space between objects",
                             of_large ? "LOH" : "Heap", percent->last());
  report.summary = fmt::format(
      "After the last collection about {} of {} were holes. {}", bytes(holes), bytes(heap),
      of_large ? "Large objects are not moved, so that the holes stay until something fits in."
               : "Pinned objects, or a collection that did not compact, leave such holes.");
  report.details.push_back(fmt::format("large object heap {}, generation 2 {}",
                                       bytes(large->last()), bytes(gen2->last())));
  report.numbers = {
      {"fragmentationPercent", percent->last(), "%",
       fmt::format("{:.0f} % of the heap", percent->last())},
      {"freeBytes", holes, "B", fmt::format("{} in holes", bytes(holes))},
      {"lohBytes", large->last(), "B", fmt::format("large object heap {}", bytes(large->last()))}};
  report.advice =
      of_large ? "reuse large buffers of a few sizes (ArrayPool, RecyclableMemoryStream); once, "
                 "GCSettings.LargeObjectHeapCompactionMode closes the holes"
               : "pin fewer and shorter-lived objects, or allocate them with "
                 "GC.AllocateUninitializedArray(pinned: true)";
  return {report};
}

}  // namespace

extern const Finding heap_fragmentation_finding{
    .id = "CS1605",
    .title = "heap fragmentation",
    .description = "A heap of which much is free space between objects.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "a few counters each second",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
