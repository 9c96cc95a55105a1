// Who allocates most, where allocation matters.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/agent_evidence.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"mbPerSecond", 100, "allocation rate that matters, in MB per second"},
    {"pausePercent", 5, "share of time in GC pauses that matters at any rate, and is damage"},
    {"percent", 20, "share of the sampled bytes that one type at one place must have"},
};
constexpr std::uint64_t kLeastSamples = 50;
constexpr double kMega = 1e6;

double mean(const CounterFact& counter) {
  double sum = 0;
  for (const auto value : counter.values) sum += value;
  return sum / static_cast<double>(counter.values.size());
}

// Of the runtime's counter, which counts every byte; else of the samples.
double bytes_per_second(const Evidence& evidence) {
  const auto* counter = evidence.events->counter("System.Runtime/alloc-rate");
  return counter ? mean(*counter) : evidence.allocations->bytes_per_second;
}

std::string rate_text(double bytes) {
  constexpr double kMost = 1e18;
  return format_bytes(static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost))) + "/s";
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& facts = *evidence.allocations;
  const auto& events = *evidence.events;
  if (facts.samples < kLeastSamples || facts.places.empty()) return {};
  const auto rate = bytes_per_second(evidence);
  const auto paused = events.length.count() > 0
                          ? 100 * static_cast<double>(events.gc_paused.count()) /
                                static_cast<double>(events.length.count())
                          : 0;
  const bool damage = paused >= parameters["pausePercent"];
  if (!damage && rate < parameters["mbPerSecond"] * kMega) return {};
  const auto& top = facts.places.front();
  if (100 * top.share < parameters["percent"]) return {};

  Report report{.severity = damage ? Severity::kWarning : Severity::kInfo,
                .confidence = Confidence::kCertain};
  report.title = fmt::format("Allocation hot spot: {} allocates {:.0f} % of all bytes as {}",
                             top.method, 100 * top.share, top.type);
  report.summary = fmt::format(
      "The program allocates {}, {} of it there. Collections paused it {:.1f} % of the time.",
      rate_text(rate), rate_text(rate * top.share), paused);
  constexpr std::size_t kMost = 5;
  constexpr double kLeastShare = 0.02;
  for (const auto& place : facts.places)
    if (report.details.size() < kMost && place.share >= kLeastShare)
      report.details.push_back(fmt::format("{:.0f} % {} in {}: {}", 100 * place.share, place.type,
                                           place.method, rate_text(rate * place.share)));
  add_allocation_stack(report, evidence, top.type);
  report.numbers = {
      {"bytesPerSecond", rate, "B/s", rate_text(rate)},
      {"sharePercent", 100 * top.share, "%", fmt::format("{:.0f} % of it", 100 * top.share)},
      {"pausePercent", paused, "%", fmt::format("{:.1f} % of the time in GC pauses", paused)},
      {"samples", static_cast<double>(facts.samples), "", counted(facts.samples, "sample")}};
  report.advice = fmt::format(
      "allocate less in {}: reuse the objects (ArrayPool, ObjectPool, StringBuilder), use spans "
      "and structs, or do the work less often",
      top.method);
  report.next = {remedy(evidence, "collect", {{"profile", "gc-verbose"}}),
                 {"report", {{"report", "allocations"}}}};
  return {report};
}

}  // namespace

extern const Finding allocation_sites_finding{
    .id = "CS1608",
    .title = "allocation hot spot",
    .description =
        "The type and the method that most bytes are allocated for, where the program "
        "allocates much.",
    .needs = {.events = true, .allocations = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "up to 0.05 % of the CPU time: a session that ends when it has recorded enough",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
