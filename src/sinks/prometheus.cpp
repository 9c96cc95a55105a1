// Counters of all processes on a page that Prometheus scrapes: OpenMetrics, or the older text where
// that is asked for.
//
// The page is served by a thread of its own; a scraper that is slow, or many, hold up nothing.
#include <fmt/format.h>

#include <atomic>

#include "base/guarded.h"
#include "base/io.h"
#include "base/text.h"
#include "net/digest.h"
#include "net/http_server.h"
#include "sinks/event_metrics.h"
#include "sinks/openmetrics.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

constexpr std::string_view kDefaultAddress = "127.0.0.1:52325";
constexpr std::string_view kDefaultPort = "52325";

struct Setting {
  net::HttpEndpoint endpoint{};
  std::string token{};  // that a scraper must show; empty: none
  std::string field{};  // of raw events
  MetricStore::Setting store{};
};

class PrometheusSink final : public hub::Sink {
 public:
  explicit PrometheusSink(Setting setting)
      : setting_(std::move(setting)),
        store_(MetricStore{setting_.store}),
        events_(setting_.field),
        told_(TraceClock::now()) {}

  // Before the first call of the hub, so that a port in use is reported at once.
  Result<> listen() {
    net::HttpServerSetting http;
    http.endpoints.push_back(setting_.endpoint);
    http.connections = {.all = 64, .newcomers = 64, .newcomers_of_address = 64};
    http.limits.body = 0;
    http.admit = [this](const net::HttpRequest& head) { return admit(head); };
    server_ = TRY(net::HttpServer::start(
        std::move(http), [this](const net::HttpRequest& request, net::HttpReply reply) {
          reply.send(answer(request));
        }));
    const auto& address = server_->addresses()[0];
    state_ = address.path.empty()
                 ? fmt::format("listens on {}://{}/metrics",
                               setting_.endpoint.tls ? "https" : "http", address.text())
                 : fmt::format("listens on {}", address.text());
    return {};
  }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    store_.with([&](auto& store) {
      if (change == hub::SourceChange::kCame)
        store.came(source);
      else
        store.gone(source, TraceClock::now());
    });
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    events_.add(batch);
    return {};
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    store_.with([&](auto& store) { store.add(values); });
    return {};
  }

  Result<> on_dropped(std::uint64_t events) override {
    dropped_ += events;
    return {};
  }

  Result<> on_tick() override {
    const auto now = TraceClock::now();
    const auto wall = wall_now();
    const auto events = events_.take(wall, now - std::exchange(told_, now));
    store_.with([&](auto& store) {
      store.add(events);
      store.expire(now);
    });
    return {};
  }

  std::string state() const override { return state_; }

 private:
  net::HttpAdmission admit(const net::HttpRequest& head) const {
    net::HttpAdmission admission;
    // A page of another site may not read this one through a browser (DNS rebinding).
    const auto& host = setting_.endpoint.address.host;
    if (setting_.token.empty() && !head.peer.uid &&
        !net::local_host_field(head.field("Host"), {host}) && loopback(host))
      admission.refusal = net::HttpResponse{.status = 421, .body = "unknown host name\n"};
    if (!setting_.token.empty() &&
        !net::equal_in_constant_time(head.field("Authorization").value_or(""),
                                     fmt::format("Bearer {}", setting_.token)))
      admission.refusal = net::HttpResponse{.status = 401,
                                            .fields = {{"WWW-Authenticate", "Bearer"}},
                                            .body = "a token is required\n"};
    return admission;
  }

  net::HttpResponse answer(const net::HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD")
      return {.status = 405, .fields = {{"Allow", "GET, HEAD"}}, .body = "only GET\n"};
    if (request.path != "/metrics")
      return {.status = 404, .body = "not found; the metrics are at /metrics\n"};
    ++scrapes_;
    const auto accept = request.field("Accept");
    const bool open = accept && net::accept_quality(accept, "application/openmetrics-text") >
                                    net::accept_quality(accept, "text/plain");
    const auto format = open ? TextFormat::kOpenMetrics : TextFormat::kPrometheus;
    return {.type = std::string{content_type(format)}, .body = page(format)};
  }

  std::string page(TextFormat format) {
    return store_.with([&](const MetricStore& store) {
      constexpr auto kCounter = MetricKind::kCounter;
      const OwnMetric own[] = {
          {"clrscope_processes", "processes watched now or recently", MetricKind::kGauge,
           static_cast<double>(store.processes())},
          {"clrscope_series", "series of processes on this page", MetricKind::kGauge,
           static_cast<double>(store.series())},
          {"clrscope_series_limit", "maximum number of series (limit=)", MetricKind::kGauge,
           static_cast<double>(store.limit())},
          {"clrscope_values_refused", "values dropped because of the series limit", kCounter,
           static_cast<double>(store.refused())},
          {"clrscope_events_dropped", "events dropped because they arrived too fast", kCounter,
           static_cast<double>(dropped_)},
          {"clrscope_scrapes", "requests of this page", kCounter, static_cast<double>(scrapes_)},
      };
      return metrics_text(store, setting_.store.names, format, own);
    });
  }

 public:
  static bool loopback(std::string_view host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
  }

 private:
  const Setting setting_;
  Guarded<MetricStore> store_;
  EventMetrics events_;  // by the sink's thread only, as the next
  TraceTime told_;
  std::atomic<std::uint64_t> dropped_{0}, scrapes_{0};
  std::string state_;                        // fixed once it listens
  std::unique_ptr<net::HttpServer> server_;  // last: stops first
};

Result<std::string> read_token(const std::string& path) {
  const auto text = TRY(read_file(path, 4096));
  const auto token = trim(text);
  if (token.empty()) return fail(Errc::kUsage, "{} contains no token", path);
  return std::string{token};
}

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting&) {
  constexpr std::string_view kNames[] = {"otel", "dotnet-monitor"};
  Setting setting;
  setting.endpoint.address = TRY(net::parse_address(
      address.target.empty() ? kDefaultAddress : std::string_view{address.target}, kDefaultPort));
  setting.field = address.option("field").value_or("");
  const auto names = TRY(address.one_of("names", kNames[0], kNames));
  if (names == kNames[1]) setting.store.names = MetricNames::kDotnetMonitor;
  setting.store.limit = TRY(address.number("limit", setting.store.limit, 1, 10'000'000));
  setting.store.keep = TRY(address.duration("keep", setting.store.keep));
  if (const auto certificate = address.option("cert"))
    setting.endpoint.tls = TRY(net::TlsContext::server(
        {.certificate = *certificate, .key = address.option("key").value_or("")}));
  if (const auto file = address.option("token")) setting.token = TRY(read_token(*file));
  const auto& to = setting.endpoint.address;
  const bool private_place = !to.path.empty() || PrometheusSink::loopback(to.host);
  if (!private_place && (!setting.endpoint.tls || setting.token.empty()) &&
      !TRY(address.truth("no-auth", false)))
    return fail(Errc::kUsage, "--to {}: other machines could read the metrics", address.text)
        .hint(
            "use cert=FILE and token=FILE for an address beyond loopback, or no-auth=yes to allow "
            "access without them");
  auto sink = std::make_unique<PrometheusSink>(std::move(setting));
  TRY(sink->listen());
  return sink;
}

constexpr SinkOption kOptions[] = {
    {"names", "otel|dotnet-monitor", "naming of the metrics (default: otel)"},
    {"field", "NAME", "send the mean of this field of events, in addition to their count"},
    {"limit", "N", "maximum number of series (default: 10000)"},
    {"keep", "TIME", "time that an ended process stays on the page (default: 1m)"},
    {"cert", "FILE", "TLS certificate, PEM; reloaded when it changes"},
    {"key", "FILE", "key of the certificate (default: in the certificate file)"},
    {"token", "FILE", "require 'Authorization: Bearer' with the token in this file"},
    {"no-auth", "yes", "allow other machines without TLS or a token"},
};

}  // namespace

extern const SinkKind prometheus_sink{
    .name = "prometheus",
    .target = "[:ADDRESS]",
    .summary = "a page of all counters for Prometheus to scrape (default: 127.0.0.1:52325)",
    .options = kOptions,
    .make = make,
};

}  // namespace clrscope::sinks
