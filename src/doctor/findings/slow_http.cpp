// Outgoing HTTP requests that take long.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/calls.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"meanMs", 500, "mean duration of the requests to one address"},
    {"requests", 3, "number of requests to one address, at least"},
};
constexpr SlowCallWords kWords{
    .title = "Slow HTTP requests",
    .one = "request",
    .preposition = "to",
    .advice =
        "ask for less, ask in parallel, or cache the answer; set HttpClient.Timeout, and "
        "look at the server for the cause",
};

// Requests under way, divided by requests a second: what one takes on average.
std::optional<std::chrono::nanoseconds> mean_by_counters(const EventFacts& events) {
  const auto* current = events.counter("System.Net.Http/current-requests");
  const auto* rate = events.counter("System.Net.Http/requests-started-rate");
  if (!current || !rate) return std::nullopt;
  double under_way = 0, started = 0;
  for (const auto value : current->values) under_way += std::max(0.0, value);
  for (const auto value : rate->values) started += std::max(0.0, value);
  under_way /= static_cast<double>(current->values.size());
  started /= static_cast<double>(rate->values.size());
  if (started <= 0) return std::nullopt;
  constexpr double kMost = 1e6;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>{std::min(kMost, under_way / started)});
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& calls = *evidence.calls;
  auto reports =
      slow_calls(evidence, calls.http, kWords, parameters["meanMs"], parameters["requests"]);
  if (!reports.empty()) {
    reports.front().next.push_back({"report", {{"report", "http"}}});
    return reports;
  }
  // A session that was cut short saw no slow request end.
  if (!calls.cut || calls.http.empty()) return {};
  const auto mean = mean_by_counters(*evidence.events);
  if (!mean || std::chrono::duration<double, std::milli>(*mean).count() < parameters["meanMs"])
    return {};
  auto places = calls.http;
  std::ranges::stable_sort(places, std::greater{}, &CallPlace::unfinished);
  auto& most = places.front();
  most.total = std::max(most.total, *mean * static_cast<std::int64_t>(most.calls));
  most.longest = std::max(most.longest, *mean);
  places.resize(1);
  reports = slow_calls(evidence, places, kWords, parameters["meanMs"], 1);
  for (auto& report : reports) {
    report.confidence = Confidence::kLikely;
    report.details.emplace_back(
        "the mean is of all addresses: requests under way divided by requests a second");
    report.next.push_back({"report", {{"report", "http"}}});
  }
  return reports;
}

}  // namespace

extern const Finding slow_http_finding{
    .id = "CS1702",
    .title = "slow HTTP requests",
    .description = "Outgoing HTTP requests that take long, by address and caller.",
    .needs = {.events = true, .calls = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "up to 0.15 % of the CPU time: a session that ends when it has recorded enough",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
