// Outgoing HTTP requests that wait for a connection.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"meanMs", 50, "mean time in the queue for a connection"},
    {"requests", 10, "number of requests that waited, at least"},
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& events = *evidence.events;
  std::vector<Report> reports;
  for (const auto& [version, name] : {std::pair{"1.1", "http11"}, std::pair{"2", "http20"}}) {
    const auto* queue =
        events.counter(fmt::format("System.Net.Http/{}-requests-queue-duration", name));
    if (!queue || static_cast<double>(queue->count) < parameters["requests"]) continue;
    const auto mean = queue->sum / static_cast<double>(queue->count);
    if (mean < parameters["meanMs"]) continue;
    const auto wait = format_duration(std::chrono::nanoseconds{std::llround(mean * 1e6)});
    const auto* current = events.counter("System.Net.Http/current-requests");
    const auto* connections =
        events.counter(fmt::format("System.Net.Http/{}-connections-current-total", name));
    Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
    report.title =
        fmt::format("HTTP connection pool: requests wait {} for a connection on average", wait);
    report.summary = fmt::format(
        "{} over HTTP/{} waited for a connection{}.", counted(queue->count, "outgoing request"),
        version,
        connections && current
            ? fmt::format(": {:.0f} requests share {}", current->last(),
                          counted(static_cast<std::size_t>(std::max(0.0, connections->last())),
                                  "connection"))
            : "");
    report.numbers = {
        {"queueMs", mean, "ms", wait + " in the queue"},
        {"requests", static_cast<double>(queue->count), "", counted(queue->count, "request")}};
    report.advice =
        "raise SocketsHttpHandler.MaxConnectionsPerServer, read or dispose each response, and send "
        "fewer requests at once to the same server";
    report.next = {remedy(evidence, "collect", {{"profile", "http"}}),
                   {"report", {{"report", "http"}}}};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding http_pool_finding{
    .id = "CS1701",
    .title = "HTTP connection pool",
    .description = "Outgoing HTTP requests that wait long for a connection.",
    .needs = {.events = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "a few counters each second",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
