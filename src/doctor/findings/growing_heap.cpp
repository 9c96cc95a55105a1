// Objects that are kept and become more: a leak, with what keeps them alive.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using analyze::GrowingType;
using analyze::Holder;

constexpr Parameter kParameters[] = {
    {"objectsPerSecond", 10, "objects of one type that are added per second"},
    {"bytesPerSecond", 4096, "bytes that these objects retain, added per second"},
    {"settledMinutes", 10, "a process that has run longer no longer fills its caches"},
};

std::string_view advice_for(Holder holder) {
  switch (holder) {
    case Holder::kCollection:
      return "remove what is no longer needed from the collection, or limit its size";
    case Holder::kEventHandler:
      return "unsubscribe from the event (-=) when the subscriber is no longer needed";
    case Holder::kTimer:
      return "dispose the timer when its object is no longer needed";
    case Holder::kWeakTable:
      return "remove the entries from the ConditionalWeakTable, or let go of their keys";
    case Holder::kOther:
      break;
  }
  return "let go of the reference at the start of the path when it is no longer needed";
}

std::string_view held_by(Holder holder) {
  switch (holder) {
    case Holder::kCollection:
      return "by a collection";
    case Holder::kEventHandler:
      return "by an event handler";
    case Holder::kTimer:
      return "by a timer";
    case Holder::kWeakTable:
      return "by a ConditionalWeakTable";
    case Holder::kOther:
      break;
  }
  return "alive";
}

std::string counts_text(const GrowingType& type) {
  std::string text;
  for (const auto count : type.counts)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", format_count(count));
  return text;
}

std::string path_line(const analyze::HeapStep& step) {
  if (step.root) return fmt::format("{} {}", name_of(*step.root), step.name);
  return step.times > 1 ? fmt::format("{} x {}", format_count(step.times), step.name) : step.name;
}

Report report_on(const Evidence& evidence, const GrowingType& type, bool settled) {
  const auto grown = type.retained_after - type.retained_before;
  Report report{.severity = Severity::kWarning,
                .confidence = settled ? Confidence::kLikely : Confidence::kPossible,
                .title = fmt::format("Memory grows: {:.0f} {} per second are added and kept {}",
                                     type.objects_per_second, type.type, held_by(type.holder))};
  report.summary = fmt::format(
      "{} looks at the heap counted {} objects of this type that are in use. They and what they "
      "keep alive grew by {} to {}.",
      type.counts.size(), counts_text(type), format_bytes(grown),
      format_bytes(type.retained_after));
  if (!settled)
    report.summary += " The process started recently: this may be a cache that is filling.";
  if (!type.path.empty()) {
    report.details.push_back(
        fmt::format("{} of {} are kept alive by this path:", format_count(type.path_objects),
                    format_count(type.counts.back())));
    for (const auto& step : type.path) report.details.push_back("  " + path_line(step));
  }
  report.numbers = {{"objectsPerSecond", type.objects_per_second, "1/s",
                     fmt::format("{:.0f} objects per second", type.objects_per_second)},
                    {"retainedBytesPerSecond", type.bytes_per_second, "B/s",
                     fmt::format("{} per second",
                                 format_bytes(static_cast<std::uint64_t>(type.bytes_per_second)))},
                    {"retainedBytes", static_cast<double>(type.retained_after), "B",
                     fmt::format("{} retained", format_bytes(type.retained_after))}};
  report.advice = advice_for(type.holder);
  report.next = {remedy(evidence, "heap", {{"type", type.type}})};
  return report;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const bool settled =
      evidence.process.up >= std::chrono::minutes{1} * parameters["settledMinutes"];
  std::vector<Report> reports;
  for (const auto& type : evidence.heap->growing)
    if (type.objects_per_second >= parameters["objectsPerSecond"] &&
        type.bytes_per_second >= parameters["bytesPerSecond"])
      reports.push_back(report_on(evidence, type, settled));
  return reports;
}

}  // namespace

extern const Finding growing_heap_finding{
    .id = "CS1620",
    .title = "growing heap",
    .description = "Objects of one type that are kept and become more, and what keeps them alive.",
    .needs = {.heap = true, .live = true, .least = std::chrono::seconds{5}},
    .price =
        "three copy-on-write snapshots: each pauses the process for milliseconds; left out "
        "where they would cost more than 2 % of the time",
    .rights = "to stop the process and read its memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
