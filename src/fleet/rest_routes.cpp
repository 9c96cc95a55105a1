#include "fleet/rest_routes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/convert.h"
#include "fleet/otlp_receiver.h"
#include "fleet/pprof.h"
#include "fleet/rest_answers.h"
#include "fleet/rest_configurations.h"
#include "site/answer.h"
#include "site/openapi.h"
#include "store/compare.h"

namespace clrscope::fleet {
namespace {

using net::HttpRequest;

Result<double> number_at(const HttpRequest& request, std::string_view name, double otherwise) {
  const auto text = request.parameter(name);
  if (!text) return otherwise;
  double value = 0;
  const auto [end, bad] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (bad != std::errc{} || end != text->data() + text->size() || !std::isfinite(value))
    return fail(Errc::kUsage, "{} must be a number, not {}", name, *text);
  return value;
}

// from and to: unix seconds, with a fraction if need be; or last: a duration such as 15m.
Result<store::TimeRange> range_at(const HttpRequest& request, WallTime now) {
  constexpr double kMost = 9e9;  // the year 2255
  store::TimeRange range;
  const auto from = TRY(number_at(request, "from", 0)), to = TRY(number_at(request, "to", kMost));
  if (from < 0 || to < from || to > kMost)
    return fail(Errc::kUsage, "from and to must be unix seconds, from before to");
  range.from = static_cast<std::int64_t>(from * 1e9);
  if (to < kMost) range.to = static_cast<std::int64_t>(to * 1e9);
  if (const auto last = request.parameter("last"))
    range.from = (now.time_since_epoch() - TRY(parse_duration(*last))).count();
  return range;
}

enum class Service : std::uint8_t { kRequired, kOptional };

Result<store::Selection> selection_at(const HttpRequest& request, WallTime now,
                                      Service service = Service::kRequired) {
  store::Selection selection{.range = TRY(range_at(request, now)),
                             .service = request.parameter("service").value_or(""),
                             .route = request.parameter("route").value_or(""),
                             .host = request.parameter("host").value_or(""),
                             .version = request.parameter("version").value_or("")};
  if (selection.service.empty() && service == Service::kRequired)
    return fail(Errc::kUsage, "service is required").hint("see /fleet/services");
  const auto status = request.parameter("status").value_or("");
  if (status.empty()) return selection;
  // "500", "500-599" or "5xx"
  const auto dash = status.find('-');
  const bool is_class = status.size() == 3 && status.ends_with("xx");
  const auto low = parse_number(is_class ? status.substr(0, 1) : status.substr(0, dash));
  const auto high = dash == std::string::npos ? low : parse_number(status.substr(dash + 1));
  if (!low || !high || *high > 999)
    return fail(Errc::kUsage, "status must be such as 404, 500-599 or 5xx, not {}", status);
  selection.status_from = static_cast<std::uint32_t>(is_class ? *low * 100 : *low);
  selection.status_to = static_cast<std::uint32_t>(is_class ? *low * 100 + 99 : *high);
  return selection;
}

Result<> services(const RestCall& call) {
  const auto range = TRY(range_at(call.request, call.now));
  ServicesAnswer answer{.services = TRY(call.store.services(range))};
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> senders;
  for (auto& one : TRY(call.store.senders(range))) {
    auto& [versions, hosts] = senders[one.service];
    versions.insert(std::move(one.version));
    hosts.insert(std::move(one.host));
  }
  for (auto& one : answer.services) {
    const auto& [versions, hosts] = senders[one.service];
    one.versions.assign(versions.begin(), versions.end());
    one.hosts.assign(hosts.begin(), hosts.end());
  }
  return call.body.value(answer);
}

Result<std::chrono::nanoseconds> step_at(const HttpRequest& request) {
  const auto text = request.parameter("step");
  if (!text) return std::chrono::nanoseconds{};
  const auto step = TRY(parse_duration(*text));
  if (step < std::chrono::seconds{1})
    return fail(Errc::kUsage, "step must be at least 1s, not {}", *text);
  return step;
}

Result<> routes(const RestCall& call) {
  const auto selection = TRY(selection_at(call.request, call.now));
  const auto step = TRY(step_at(call.request));
  return call.body.value(RoutesAnswer{.routes = TRY(call.store.routes(selection, step))});
}

Result<store::SeriesQuery> series_query_at(const RestCall& call) {
  const auto by = call.request.parameter("by").value_or("route");
  const auto names = store::names_of(store::GroupBy{});
  const auto name = std::find(names.begin(), names.end(), by);
  if (name == names.end())
    return fail(Errc::kUsage, "by must be service, version, host, route or status, not {}", by);
  const auto group = static_cast<store::GroupBy>(name - names.begin());
  const auto needs = group == store::GroupBy::kService ? Service::kOptional : Service::kRequired;
  return store::SeriesQuery{.selection = TRY(selection_at(call.request, call.now, needs)),
                            .by = group,
                            .step = TRY(step_at(call.request)),
                            .now = call.now};
}

Result<> series(const RestCall& call) {
  const auto query = TRY(series_query_at(call));
  const auto by = store::names_of(query.by)[static_cast<std::size_t>(query.by)];
  return call.body.value(SeriesAnswer{
      .by = std::string{by}, .step = query.step, .series = TRY(call.store.series(query))});
}

Result<> points(const RestCall& call) {
  auto query = TRY(series_query_at(call));
  if (query.step.count() == 0) query.step = std::chrono::minutes{1};
  const double seconds = std::chrono::duration<double>{query.step}.count();
  auto& json = call.body.json();
  json.begin_object().key("points").begin_array();  // PointsAnswer, row by row
  const auto write = [&](const std::string& group, const store::RoutePoint& point) {
    GroupPoint row{point.time, group, point.latency};
    row.latency.per_second = static_cast<double>(row.latency.requests) / seconds;
    return call.body.value(row);
  };
  TRY(call.store.points(query, write));
  json.end_array().end_object();
  return {};
}

Result<store::FlameWeight> weight_at(const HttpRequest& request) {
  const auto text = request.parameter("by").value_or("running");
  const auto names = store::names_of(store::FlameWeight{});
  const auto name = std::find(names.begin(), names.end(), text);
  if (name == names.end()) return fail(Errc::kUsage, "by must be running or cpu, not {}", text);
  return static_cast<store::FlameWeight>(name - names.begin());
}

Result<store::FlameQuery> flame_query_at(const RestCall& call) {
  return store::FlameQuery{.selection = TRY(selection_at(call.request, call.now)),
                           .from_percentile = TRY(number_at(call.request, "fromPercentile", 0)),
                           .to_percentile = TRY(number_at(call.request, "toPercentile", 100)),
                           .weight = TRY(weight_at(call.request))};
}

Result<> flame(const RestCall& call) {
  const auto query = TRY(flame_query_at(call));
  return call.body.value(TRY(call.store.flame(query)));
}

Result<> pprof(const RestCall& call) {
  const auto query = TRY(flame_query_at(call));
  const auto flame = TRY(call.store.flame(query));
  return call.body.bytes(TRY(pprof_of(flame, query)));
}

// The other side of a comparison: the same selection but for its base… parameters.
Result<store::CompareQuery> compared_at(const RestCall& call) {
  const auto& request = call.request;
  store::CompareQuery query{.after = TRY(selection_at(request, call.now)), .now = call.now};
  auto& range = query.after.range;
  range.to = std::min(range.to, call.now.time_since_epoch().count());
  query.before = query.after;
  bool differs = false;
  const auto take = [&](std::string_view name, std::string& to) {
    const auto value = request.parameter(name);
    if (!value) return;
    to = *value;
    differs = true;
  };
  take("baseVersion", query.before.version);
  take("baseHost", query.before.host);
  if (const auto shift = request.parameter("baseShift")) {
    const auto back = TRY(parse_duration(*shift)).count();
    if (back <= 0) return fail(Errc::kUsage, "baseShift must be greater than zero");
    query.before.range = {std::max<std::int64_t>(range.from - back, 0), range.to - back};
    differs = true;
  } else if (request.parameter("baseFrom") || request.parameter("baseTo")) {
    const auto from = TRY(number_at(request, "baseFrom", -1));
    const auto to = TRY(number_at(request, "baseTo", -1));
    if (from < 0 || to <= from || to > 9e9)
      return fail(Errc::kUsage, "baseFrom and baseTo must be unix seconds, baseFrom before baseTo");
    query.before.range = {static_cast<std::int64_t>(from * 1e9),
                          static_cast<std::int64_t>(to * 1e9)};
    differs = true;
  }
  if (!differs)
    return fail(Errc::kUsage, "what to compare with is required")
        .hint("add baseVersion, baseHost, baseShift, or baseFrom and baseTo");
  return query;
}

Result<> compare(const RestCall& call) {
  const auto query = TRY(compared_at(call));
  return call.body.value(TRY(store::compare(call.store, query)));
}

Result<> compare_flame(const RestCall& call) {
  const auto query = TRY(compared_at(call));
  store::FlameQuery after{.selection = query.after,
                          .from_percentile = TRY(number_at(call.request, "fromPercentile", 0)),
                          .to_percentile = TRY(number_at(call.request, "toPercentile", 100)),
                          .weight = TRY(weight_at(call.request))};
  auto before = after;
  before.selection = query.before;
  return call.body.value(TRY(store::compare_flames(call.store, before, after)));
}

Result<> slowest(const RestCall& call) {
  constexpr double kMost = 1000;
  const auto limit = TRY(number_at(call.request, "limit", 100));
  if (!(limit >= 1 && limit <= kMost))
    return fail(Errc::kUsage, "limit must be between 1 and {}", kMost);
  const store::SlowestQuery query{
      .selection = TRY(selection_at(call.request, call.now)),
      .from_percentile = TRY(number_at(call.request, "fromPercentile", 0)),
      .to_percentile = TRY(number_at(call.request, "toPercentile", 100)),
      .limit = static_cast<std::size_t>(limit)};
  return call.body.value(RequestsAnswer{.requests = TRY(call.store.slowest(query))});
}

Result<> by_trace(const RestCall& call) {
  const auto id = TRY(trace_id_of(call.value));
  TraceAnswer answer{.requests = TRY(call.store.find(id)), .spans = TRY(call.store.otlp_spans(id))};
  answer.cut = answer.spans.size() > store::kMostOtlpSpans;
  if (answer.cut) answer.spans.resize(store::kMostOtlpSpans);
  if (!answer.spans.empty()) answer.lines = trace_tree(answer.requests, answer.spans);
  if (answer.requests.empty() && answer.spans.empty())
    return fail(Errc::kNotFound, "no sampled request has the trace id {}", call.value)
        .hint("requests that were not sampled are counted, but cannot be found by their trace id");
  return call.body.value(answer);
}

Result<> hosts(const RestCall& call) {
  const auto range = TRY(range_at(call.request, call.now));
  HostsAnswer answer{.hosts = TRY(call.store.hosts(range))};
  TRY(add_configurations(*call.caller.tenant, answer.hosts));
  for (auto& host : answer.hosts)
    host.silent = std::max(call.now - host.last, std::chrono::nanoseconds{});
  return call.body.value(answer);
}

Result<std::string> status(const ServerCall& call) {
  const auto& caller = call.caller;
  return json_text(StatusAnswer{.reader = caller.name,
                                .tenant = caller.tenant ? caller.tenant->name() : "",
                                .admin = caller.may(Scope::kAdmin),
                                .signed_in = caller.signed_in});
}

// A caller of a tenant sees its own line.
Result<std::string> tenants(const ServerCall& call) {
  return json_text(TenantsAnswer{.tenants = call.caller.tenant
                                                ? std::vector{call.caller.tenant->use()}
                                                : call.tenants.uses()});
}

Result<std::string> health(const ServerCall&) { return json_text(HealthAnswer{}); }
Result<std::string> ready(const ServerCall& call) {
  if (const auto done = call.tenants.ready(); !done) {
    log(LogLevel::kWarning, "the store is unavailable: {}", done.error().what);
    return fail(Errc::kSystem, "the store is unavailable");  // anybody may ask: no addresses
  }
  return json_text(HealthAnswer{});
}

Result<std::string> openapi(const ServerCall& call);

constexpr std::string_view kTokenScheme = "token";

constexpr RestParameter kFrom{"from", "number", "begin of the range, unix seconds"};
constexpr RestParameter kTo{"to", "number", "end of the range, unix seconds"};
constexpr RestParameter kLast{"last", "string",
                              "range that ends now, such as 15m; instead of from"};
constexpr RestParameter kService{"service", "string", "name of the service; required"};
constexpr RestParameter kRoute{"route", "string", "GET /orders/{id}, or /orders/{id} alone"};
constexpr RestParameter kHost{"host", "string", "only requests of this host"};
constexpr RestParameter kVersion{"version", "string", "only requests of this version"};
constexpr RestParameter kStatus{"status", "string", "such as 404, 500-599 or 5xx"};
constexpr RestParameter kStep{"step", "string", "length of a step over time, such as 1m"};
constexpr RestParameter kFromPercentile{
    "fromPercentile", "number", "only requests at least as slow as this percentile (default: 0)"};
constexpr RestParameter kToPercentile{
    "toPercentile", "number", "only requests at most as slow as this percentile (default: 100)"};

constexpr RestParameter kRangeOnly[] = {kFrom, kTo, kLast};
constexpr RestParameter kRouteQuery[] = {kFrom, kTo,      kLast,   kService, kRoute,
                                         kHost, kVersion, kStatus, kStep};
constexpr RestParameter kSeriesQuery[] = {
    {"by", "string", "service, version, host, route or status (default: route)"},
    kFrom,
    kTo,
    kLast,
    {"service", "string", "name of the service; required unless by=service"},
    kRoute,
    kHost,
    kVersion,
    kStatus,
    kStep};
constexpr RestParameter kFlameQuery[] = {
    kFrom,
    kTo,
    kLast,
    kService,
    kRoute,
    kHost,
    kVersion,
    kStatus,
    kFromPercentile,
    kToPercentile,
    {"by", "string",
     "running: running time of the measured methods; cpu: CPU samples, with all methods of their "
     "stacks (default: running)"}};
constexpr RestParameter kBaseVersion{"baseVersion", "string", "version to compare with"};
constexpr RestParameter kBaseHost{"baseHost", "string", "host to compare with"};
constexpr RestParameter kBaseShift{"baseShift", "string",
                                   "compare with the same range so much earlier, such as 1d"};
constexpr RestParameter kBaseFrom{"baseFrom", "number",
                                  "begin of the range to compare with, unix seconds"};
constexpr RestParameter kBaseTo{"baseTo", "number",
                                "end of the range to compare with, unix seconds"};
constexpr RestParameter kCompareQuery[] = {kFrom,      kTo,       kLast,   kService,     kRoute,
                                           kHost,      kVersion,  kStatus, kBaseVersion, kBaseHost,
                                           kBaseShift, kBaseFrom, kBaseTo};
constexpr RestParameter kCompareFlameQuery[] = {
    kFrom,         kTo,
    kLast,         kService,
    kRoute,        kHost,
    kVersion,      kStatus,
    kBaseVersion,  kBaseHost,
    kBaseShift,    kBaseFrom,
    kBaseTo,       kFromPercentile,
    kToPercentile, {"by", "string", "running or cpu, as of /fleet/flame (default: running)"}};
constexpr RestParameter kSlowestQuery[] = {
    kFrom,
    kTo,
    kLast,
    kService,
    kRoute,
    kHost,
    kVersion,
    kStatus,
    kFromPercentile,
    kToPercentile,
    {"limit", "integer", "number of requests, 1 to 1000 (default: 100)"}};
constexpr RestParameter kServiceOnly[] = {{"service", "string", "only this service"}};
constexpr RestParameter kTraceQuery[] = {
    {"traceId", "string", "32 hexadecimal digits", RestParameter::In::kPath}};

constexpr RestRoute kRoutes[] = {
    {.path = "/fleet/services",
     .summary = "Services with requests, errors, spans, versions and hosts",
     .parameters = kRangeOnly,
     .json = value_shape<ServicesAnswer>,
     .answer = services,
     .statuses = "400"},
    {.path = "/fleet/routes",
     .summary = "Routes of a service with latency percentiles, with step also over time",
     .parameters = kRouteQuery,
     .json = value_shape<RoutesAnswer>,
     .answer = routes,
     .statuses = "400 413"},
    {.path = "/fleet/series",
     .summary = "Latency percentiles by service, version, host, route or status, over time",
     .parameters = kSeriesQuery,
     .json = value_shape<SeriesAnswer>,
     .answer = series,
     .statuses = "400 413"},
    {.path = "/fleet/points",
     .summary = "The points of /fleet/series as rows, for Grafana and other tables; step: 1m by "
                "default",
     .parameters = kSeriesQuery,
     .json = value_shape<PointsAnswer>,
     .answer = points,
     .statuses = "400 413"},
    {.path = "/fleet/flame",
     .summary = "Merged call trees of the requests in a band of percentiles",
     .parameters = kFlameQuery,
     .json = value_shape<store::Flame>,
     .answer = flame,
     .statuses = "400 413"},
    {.path = "/fleet/pprof",
     .summary = "The same as a pprof file: gzipped profile.proto",
     .parameters = kFlameQuery,
     .answer = pprof,
     .statuses = "400 413",
     .file = "profile.pb.gz"},
    {.path = "/fleet/compare",
     .summary = "Two versions, hosts or ranges side by side: each route with a verdict",
     .parameters = kCompareQuery,
     .json = value_shape<store::Comparison>,
     .answer = compare,
     .statuses = "400 413"},
    {.path = "/fleet/compare/flame",
     .summary = "Merged call trees of both sides of a comparison as one tree",
     .parameters = kCompareFlameQuery,
     .json = value_shape<store::FlameChange>,
     .answer = compare_flame,
     .statuses = "400 413"},
    {.path = "/fleet/requests",
     .summary = "The slowest sampled requests in a band of percentiles, without their spans",
     .parameters = kSlowestQuery,
     .json = value_shape<RequestsAnswer>,
     .answer = slowest,
     .statuses = "400 413"},
    {.path = "/fleet/requests/{traceId}",
     .summary = "All sampled requests of a trace, with spans, and spans of other tracers",
     .parameters = kTraceQuery,
     .json = value_shape<TraceAnswer>,
     .answer = by_trace,
     .statuses = "400 404"},
    {.path = kOtlpTraces,
     .summary =
         "Takes spans of other tracers: OTLP traces, as protobuf or JSON, also compressed "
         "with gzip; requires a token of scope ingest. What is refused is answered with 400, "
         "413, 415, 429 or 503 and a google.rpc.Status in the type of the request",
     .json = value_shape<OtlpAnswer>,
     .statuses = "405",
     .method = "post"},
    {.path = "/fleet/hosts",
     .summary = "Processes that send requests, with loss, sampling and cost",
     .parameters = kRangeOnly,
     .json = value_shape<HostsAnswer>,
     .answer = hosts,
     .statuses = "400"},
    {.path = "/fleet/configurations",
     .summary = "How services shall be profiled, with the history of changes",
     .parameters = kServiceOnly,
     .json = value_shape<ConfigurationsAnswer>,
     .answer = configurations,
     .change = change_configuration,
     .body = value_shape<ConfigurationBody>,
     .changed = value_shape<ConfigurationVersion>,
     .statuses = "400"},
    {.path = "/fleet/status",
     .summary = "Version of the server, and the caller",
     .json = value_shape<StatusAnswer>,
     .of_server = status,
     .at_once = true},
    {.path = "/fleet/tenants",
     .summary = "What the tenant of the caller uses of its quotas; for a token of *: all tenants",
     .json = value_shape<TenantsAnswer>,
     .of_server = tenants},
    {.path = "/health",
     .summary = "Whether the server runs",
     .json = value_shape<HealthAnswer>,
     .of_server = health,
     .open = true,
     .at_once = true},
    {.path = "/health/ready",
     .summary = "Whether the store takes batches and answers queries",
     .json = value_shape<HealthAnswer>,
     .of_server = ready,
     .statuses = "503",
     .open = true},
    {.path = "/openapi.json", .summary = "This description", .of_server = openapi, .open = true},
};

void write_problems(JsonWriter& json, std::vector<std::string_view> statuses) {
  for (const auto status : statuses) {
    if (status.empty()) continue;
    json.key(status).begin_object();
    json.member("description",
                net::status_text(static_cast<int>(parse_number(status).value_or(0))));
    site::write_content(json, site::kProblem, value_shape<site::Problem>());
    json.end_object();
  }
}

void write_change(JsonWriter& json, const RestRoute& route) {
  json.key("post").begin_object();
  json.member("summary", "Change it; requires a token of scope admin");
  site::write_security(json, kTokenScheme);
  json.key("requestBody").begin_object().member("required", true);
  site::write_content(json, site::kJson, route.body());
  json.end_object().key("responses").begin_object();
  json.key("200").begin_object().member("description", "What was made of it");
  site::write_content(json, site::kJson, route.changed());
  json.end_object();
  write_problems(json, {"400", "401", "403", "404", "409", "413", "503"});
  json.end_object().end_object();
}

void write_route(JsonWriter& json, const RestRoute& route) {
  json.key(route.path).begin_object().key(route.method).begin_object();
  json.member("summary", route.summary);
  site::write_security(json, route.open ? "" : kTokenScheme);
  json.key("parameters").begin_array();
  for (const auto& one : route.parameters) {
    json.begin_object();
    site::write_parameter(json, one);
    json.end_object();
  }
  json.end_array().key("responses").begin_object();
  json.key("200").begin_object().member("description", route.summary);
  if (route.json) site::write_content(json, site::kJson, route.json());
  if (!route.file.empty()) site::write_binary_content(json, site::kOctets);
  json.end_object();
  auto statuses = split(route.statuses, ' ');
  if (!route.open) statuses.insert(statuses.end(), {"401", "403", "503"});
  write_problems(json, std::move(statuses));
  json.end_object().end_object();
  if (route.change) write_change(json, route);
  json.end_object();
}

Result<std::string> openapi(const ServerCall&) {
  JsonWriter json;
  site::begin_api(json, "clrscope fleet", CLRSCOPE_VERSION,
                  "Requests of many hosts: docs/fleet.md");
  json.key("paths").begin_object();
  site::NamedShapes shapes;
  gather_shapes(value_shape<site::Problem>(), shapes);
  for (const auto& route : kRoutes) {
    write_route(json, route);
    if (route.json) gather_shapes(route.json(), shapes);
    if (route.change) gather_shapes(route.body(), shapes), gather_shapes(route.changed(), shapes);
  }
  json.end_object();
  site::end_api(json, shapes, kTokenScheme, "clrscope fleet token --scope read");
  return std::move(json).take();
}

}  // namespace

std::span<const RestRoute> rest_routes() { return kRoutes; }

RestMatch find_route(std::string_view path) {
  for (const auto& route : kRoutes) {
    const auto brace = route.path.find('{');
    if (brace == std::string_view::npos) {
      if (route.path == path) return {&route, {}};
    } else if (path.size() > brace && path.starts_with(route.path.substr(0, brace))) {
      return {&route, std::string{path.substr(brace)}};
    }
  }
  return {};
}

}  // namespace clrscope::fleet
