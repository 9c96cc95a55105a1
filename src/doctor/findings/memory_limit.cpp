// The memory of the process, or of its container, comes near to its limit: the kernel will kill it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/growth.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"percent", 90, "share of the limit in use that counts as a risk"},
    {"minutes", 10, "the limit is reached within this time if memory grows on like this"},
    {"limitMB", 0, "limit to compare with, in MB (0: the limit of the cgroup)"},
};

double used(const MemoryUse& use) {
  return static_cast<double>(use.group > 0 ? use.group : use.rss);
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto limit = parameters["limitMB"] > 0
                         ? parameters["limitMB"] * 1e6
                         : static_cast<double>(evidence.process.memory_limit.value_or(0));
  if (limit <= 0 || evidence.memory.empty()) return {};
  Series series;
  for (const auto& use : evidence.memory) series.emplace_back(use.time, used(use));
  const auto growth = growth_of(series);
  const auto now = used(evidence.memory.back());
  const auto percent = 100 * now / limit;
  // What grows by less than this while it is watched may as well be noise.
  const bool grows = growth.steady && growth.total >= limit / 200;
  const auto left = grows ? std::max(0.0, limit - now) / growth.per_second : 0;
  const bool full = percent >= parameters["percent"];
  const bool soon = grows && left < 60 * parameters["minutes"];
  if (!full && !soon) return {};

  constexpr double kVerySoon = 60;
  Report report{.severity = (full && grows) || (soon && left < kVerySoon) ? Severity::kError
                                                                          : Severity::kWarning,
                .confidence = full ? Confidence::kCertain : Confidence::kLikely};
  const auto bytes = [](double value) { return format_bytes(static_cast<std::uint64_t>(value)); };
  report.title =
      soon ? fmt::format("Out of memory in about {}: {} of {} in use, {} more each second",
                         format_duration(std::chrono::seconds{static_cast<std::int64_t>(left)}),
                         bytes(now), bytes(limit), bytes(growth.per_second))
           : fmt::format("Memory limit: {} of {} in use ({:.0f} %)", bytes(now), bytes(limit),
                         percent);
  report.summary =
      "At the limit the kernel kills the process (OOM kill) without a message of its own.";
  if (evidence.memory.back().group > 0)
    report.details.push_back(fmt::format("the process itself uses {} of it",
                                         bytes(static_cast<double>(evidence.memory.back().rss))));
  report.numbers = {{"usedBytes", now, "B", fmt::format("{} in use", bytes(now))},
                    {"limitBytes", limit, "B", fmt::format("limit {}", bytes(limit))},
                    {"usedPercent", percent, "%", fmt::format("{:.0f} % of the limit", percent)}};
  if (grows)
    report.numbers.push_back({"bytesPerSecond", growth.per_second, "B/s",
                              fmt::format("{} more each second", bytes(growth.per_second))});
  report.advice = grows
                      ? "find what grows before the limit is reached; raising the limit only buys "
                        "time"
                      : "raise the limit, or make the program use less memory";
  report.next = {remedy(evidence, "dump", {{"type", "heap"}})};
  return {report};
}

}  // namespace

extern const Finding memory_limit_finding{
    .id = "CS1606",
    .title = "memory limit",
    .description = "Memory in use that is near the limit of its cgroup, or will soon reach it.",
    .needs = {.state = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "none: reads /proc and the cgroup's files",
    .rights = "none",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
