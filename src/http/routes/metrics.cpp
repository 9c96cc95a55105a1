// The counters of all processes on one page, for Prometheus.
#include "live/metrics.h"
#include "http/route.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";

Result<HttpResponse> metrics(Call& call) {
  const auto names = call.text("names").value_or("otel");
  if (names != "otel" && names != "dotnet-monitor")
    return fail(Errc::kUsage, "names={} is neither otel nor dotnet-monitor", names);
  auto page = call.services().metrics.page(
      {.open_metrics = call.wants(kOpenMetrics), .dotnet_monitor = names == "dotnet-monitor"});
  return HttpResponse{.type = std::move(page.type), .body = std::move(page.text)};
}

constexpr Parameter kParameters[] = {
    {.name = "names", .type = "string", .help = "otel or dotnet-monitor (default: otel)"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/metrics",
     .scope = Scope::kMetrics,
     .summary = "The counters of all processes, for Prometheus",
     .types = "text/plain application/openmetrics-text",
     .parameters = kParameters,
     .answer = metrics,
     .statuses = "400"},
};

}  // namespace

extern constexpr Routes metrics_routes{kRoutes};

}  // namespace clrscope::http
