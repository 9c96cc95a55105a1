// Memory grows, and it is not the managed heap.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "doctor/growth.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"perSecondKB", 500, "growth per second, in KB, that the managed heap does not explain"},
    {"leastMB", 4, "growth while it was watched, in MB, below which nothing is said"},
};

// A program that has just started compiles its code and fills its buffers: more is needed to tell.
constexpr std::chrono::minutes kStarting{1};
constexpr double kStartingFactor = 4;

// What the heap can have grown by at most: all that was allocated.
double allocated(const CounterFact& per_second) {
  return std::accumulate(per_second.values.begin(), per_second.values.end(), 0.0);
}

// Each thread brings its stack: then the threads are what grows.
bool threads_grow(const Evidence& evidence) {
  if (evidence.snapshots.empty()) return false;
  const auto all = [](const inspect::Snapshot& one) {  // the program's own
    const auto running = std::ranges::count_if(
        one.threads, [](const auto& thread) { return !entry_of(thread).empty(); });
    return static_cast<std::size_t>(running) + one.without_os_thread.size();
  };
  constexpr std::size_t kMany = 5;
  return all(evidence.snapshots.back()) >= all(evidence.snapshots.front()) + kMany;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto* rate = evidence.events->counter("System.Runtime/alloc-rate");
  if (!rate || evidence.memory.size() < 3 || threads_grow(evidence)) return {};
  Series series;
  for (const auto& use : evidence.memory)
    series.emplace_back(use.time, static_cast<double>(use.anonymous));
  const auto growth = growth_of(series);
  // Intervals that are not covered count like the others.
  const auto seconds = std::chrono::duration<double>(series.back().first).count();
  const auto managed = allocated(*rate) / static_cast<double>(rate->values.size()) * seconds;
  const auto native = growth.total - managed;
  const auto native_rate = native / std::max(seconds, 0.001);
  const auto factor = evidence.process.up < kStarting ? kStartingFactor : 1.0;
  if (!growth.steady || native < factor * parameters["leastMB"] * 1e6 ||
      native_rate < factor * parameters["perSecondKB"] * 1e3)
    return {};

  const auto bytes = [](double value) {
    return format_bytes(static_cast<std::uint64_t>(std::max(0.0, value)));
  };
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kLikely};
  report.title = fmt::format("Native memory grows by {} each second; the managed heap does not",
                             bytes(native_rate));
  report.summary = fmt::format(
      "Memory of the process grew by {} in {}, while the program allocated only {} of managed "
      "objects.",
      bytes(growth.total), format_duration(series.back().first), bytes(managed));
  report.numbers = {
      {"nativeBytesPerSecond", native_rate, "B/s",
       fmt::format("{} more each second", bytes(native_rate))},
      {"grownBytes", growth.total, "B", fmt::format("grown by {}", bytes(growth.total))},
      {"managedBytes", managed, "B",
       fmt::format("{} of managed objects allocated", bytes(managed))}};
  report.advice =
      "look for memory that is allocated outside the heap and not freed: NativeMemory and Marshal, "
      "SafeHandles and streams without Dispose, native libraries (images, compression, databases)";
  return {report};
}

}  // namespace

extern const Finding native_growth_finding{
    .id = "CS1607",
    .title = "native memory growth",
    .description = "Memory of the process that grows by more than the program allocates.",
    .needs = {.events = true, .state = true, .live = true, .least = std::chrono::seconds{3}},
    .price = "a few counters each second",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
