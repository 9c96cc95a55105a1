// Queries about many requests: the engine selects, groups and sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/rollup.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {

using std::chrono::nanoseconds;

namespace {

constexpr std::int64_t kBucketNs = 10'000'000'000;

// Percentiles by nearest rank, as the SQLite store has them.
constexpr std::string_view kLatency =
    "count(), sum(status >= 500 OR error != ''), sum(bitAnd(flags, 1)), "
    "quantilesExactWeighted(0.5, 0.9, 0.95, 0.99)(duration, 1), max(duration), sum(running), "
    "sum(waiting), sum(queued)";

Latency read_latency(Rows& rows) {
  Latency latency{.requests = rows.number<std::uint64_t>(),
                  .errors = rows.number<std::uint64_t>(),
                  .sampled = rows.number<std::uint64_t>()};
  auto ranks = rows.array<std::uint64_t>();
  ranks.resize(4);
  latency.p50 = ns(ranks[0]), latency.p90 = ns(ranks[1]);
  latency.p95 = ns(ranks[2]), latency.p99 = ns(ranks[3]);
  latency.max = ns(rows.number<std::uint64_t>());
  latency.running = ns(rows.number<std::uint64_t>());
  latency.waiting = ns(rows.number<std::uint64_t>());
  latency.queued = ns(rows.number<std::uint64_t>());
  return latency;
}

// An array of further percentiles, empty if there are none.
std::string percentiles_of(const SeriesQuery& query) {
  if (query.percentiles.empty()) return "emptyArrayUInt64()";
  std::string levels;
  for (const auto p : query.percentiles)
    levels += fmt::format("{}{}", levels.empty() ? "" : ", ", p / 100);
  return fmt::format("quantilesExactWeighted({})(duration, 1)", levels);
}

std::string_view columns_of(GroupBy by) {
  switch (by) {
    case GroupBy::kService:
      return "service, ''";
    case GroupBy::kVersion:
      return "version, ''";
    case GroupBy::kHost:
      return "host, ''";
    case GroupBy::kRoute:
      return "method, route";
    case GroupBy::kStatus:
      return "toString(status), ''";
  }
  return "";
}

std::string name_of(GroupBy by, const std::pair<std::string, std::string>& key) {
  if (by != GroupBy::kRoute) return key.first;
  return key.first + " " + (key.second.empty() ? "(no route)" : key.second);
}

}  // namespace

// Of the route of a selection: "GET /orders/{id}", or "/orders/{id}" alone.
std::string route_condition(const std::string& route) {
  if (route.empty()) return "";
  const auto space = route.find(' ');
  const bool has_method = route.front() != '/' && space != std::string::npos;
  auto path = has_method ? route.substr(space + 1) : route;
  if (path.empty() || (has_method && space == 0)) return " AND 0";
  if (path == "(no route)") path.clear();
  auto text = " AND route = " + quoted(path);
  if (has_method) text += " AND method = " + quoted(route.substr(0, space));
  return text;
}

Result<std::string> ClickhouseStore::where(const Selection& selection) {
  return where(selection, TRY(ledger_.view()));
}

std::string ClickhouseStore::where(const Selection& selection, const Ledger::View& view) {
  const auto& range = selection.range;
  const auto from = std::max<std::int64_t>(range.from, 0), to = std::max<std::int64_t>(range.to, 0);
  auto text = fmt::format("bucket >= {} AND bucket <= {} AND begin >= {} AND begin < {}",
                          from / kBucketNs, to / kBucketNs, from, to);
  if (!selection.service.empty()) text += " AND service = " + quoted(selection.service);
  text += route_condition(selection.route);
  if (!selection.host.empty()) text += " AND host = " + quoted(selection.host);
  if (!selection.version.empty()) text += " AND version = " + quoted(selection.version);
  if (selection.status_from > 0) text += fmt::format(" AND status >= {}", selection.status_from);
  if (selection.status_to < 0xffff) text += fmt::format(" AND status <= {}", selection.status_to);
  return text + " AND " + view.condition();
}

Result<std::vector<ServiceSummary>> ClickhouseStore::services(const TimeRange& range) {
  const auto view = TRY(ledger_.view());
  const auto from = std::max<std::int64_t>(range.from, 0), to = std::max<std::int64_t>(range.to, 0);
  Rows rows{TRY(select(fmt::format(
      "SELECT service, sum(requests), sum(sampled), sum(errors), sum(spans), min(bucket), "
      "max(bucket) FROM {} WHERE bucket >= {} AND bucket <= {} AND {} GROUP BY service "
      "ORDER BY service",
      schema_.all("service_10s"), from / kBucketNs, to / kBucketNs, view.condition())))};
  std::vector<ServiceSummary> found;
  while (rows.more()) {
    ServiceSummary one{.service = rows.text(),
                       .requests = rows.number<std::uint64_t>(),
                       .sampled = rows.number<std::uint64_t>(),
                       .errors = rows.number<std::uint64_t>(),
                       .spans = rows.number<std::uint64_t>()};
    one.first = wall(rows.number<std::uint32_t>() * kBucketNs);
    one.last = wall(rows.number<std::uint32_t>() * kBucketNs);
    found.push_back(std::move(one));
  }
  TRY(rows.done());
  return found;
}

Result<std::vector<RouteSummary>> ClickhouseStore::routes(const Selection& selection,
                                                          nanoseconds step) {
  std::vector<RouteSummary> found;
  for (auto& one : TRY(series({.selection = selection, .by = GroupBy::kRoute, .step = step})))
    found.push_back({std::move(one.group), one.latency, std::move(one.points)});
  return found;
}

Result<std::vector<Series>> ClickhouseStore::series(const SeriesQuery& query) {
  const auto view = TRY(ledger_.view());
  Places places;
  auto found = TRY(totals(query, view, places));
  TRY(steps(query, view, places, [&](std::size_t place, const RoutePoint& point) -> Result<> {
    found[place].points.push_back(point);
    return {};
  }));
  return found;
}

Result<> ClickhouseStore::points(const SeriesQuery& query, const OnPoint& on_point) {
  const auto view = TRY(ledger_.view());
  Places places;
  const auto found = TRY(totals(query, view, places));
  return steps(query, view, places, [&](std::size_t place, const RoutePoint& point) {
    return on_point(found[place].group, point);
  });
}

Result<std::vector<Series>> ClickhouseStore::totals(const SeriesQuery& query,
                                                    const Ledger::View& view, Places& places) {
  if (query.selection.service.empty() && query.by != GroupBy::kService)
    return fail(Errc::kUsage, "service is required");
  auto body = TRY(from_rollups(query, Points::kNone, view));
  const bool rolled = body.has_value();
  if (!body)
    body = TRY(select(fmt::format(
        "SELECT {0} AS b, {1}, min(begin), {4}{5}, {6} FROM {2} WHERE {3} GROUP BY {0}",
        columns_of(query.by), kLatency, schema_.all("request"), where(query.selection, view),
        percentiles_of(query), query.cpu ? ", sum(samples), sum(arraySum(sample_weight))" : "",
        kRowEndColumn)));
  struct Keyed {
    std::pair<std::string, std::string> key{};
    Series series{};
  };
  std::vector<Keyed> groups;
  auto first = query.selection.range.to;
  Rows rows{*std::move(body)};
  while (rows.more()) {
    if (rolled) rows.number<std::uint8_t>();  // whether it is open
    auto& [key, series] = groups.emplace_back();
    key.first = rows.text();
    key.second = rows.text();
    series.group = name_of(query.by, key);
    series.latency = read_latency(rows);
    first = std::min(first, rows.number<std::int64_t>());
    for (const auto value : rows.array<std::uint64_t>()) series.percentiles.push_back(ns(value));
    if (query.cpu) {
      series.samples = rows.number<std::uint64_t>();
      series.cpu = ns(rows.number<std::uint64_t>());
    }
    rows.end_row();
  }
  TRY(rows.done());
  const auto end = std::min(query.selection.range.to, query.now.time_since_epoch().count());
  const auto seconds = static_cast<double>(end - std::max(first, query.selection.range.from)) / 1e9;
  if (seconds >= 1)
    for (auto& one : groups)
      one.series.latency.per_second = static_cast<double>(one.series.latency.requests) / seconds;
  std::sort(groups.begin(), groups.end(), [&](const Keyed& a, const Keyed& b) {
    return comes_before(query.by, a.series, b.series);
  });
  std::vector<Series> found;
  for (auto& [key, series] : groups) {
    places[std::move(key)] = found.size();
    found.push_back(std::move(series));
  }
  return found;
}

Result<> ClickhouseStore::steps(const SeriesQuery& query, const Ledger::View& view,
                                const Places& places, const OnStep& on_step) {
  if (query.step.count() <= 0 || places.empty()) return {};
  auto body = TRY(from_rollups(query, Points::kSteps, view));
  const bool rolled = body.has_value();
  if (!body)
    body = TRY(
        select(fmt::format("SELECT {0}, intDiv(begin, {4}) AS point, {1}, {5} FROM {2} WHERE {3} "
                           "GROUP BY {0}, point ORDER BY point",
                           columns_of(query.by), kLatency, schema_.all("request"),
                           where(query.selection, view), query.step.count(), kRowEndColumn),
               kUnlimited));
  std::map<std::size_t, RoutePoint> step;  // one step of time, by place
  const auto end_step = [&]() -> Result<> {
    for (const auto& [place, point] : step) TRY(on_step(place, point));
    step.clear();
    return {};
  };
  Rows rows{*std::move(body)};
  while (rows.more()) {
    if (rolled) rows.number<std::uint8_t>();
    std::pair<std::string, std::string> key;
    key.first = rows.text();
    key.second = rows.text();
    const auto number = rows.number<std::int64_t>();
    const auto latency = read_latency(rows);
    rows.end_row();
    TRY(rows.done());  // before the row goes anywhere
    const RoutePoint point{wall(number * query.step.count()), latency};
    if (!step.empty() && step.begin()->second.time != point.time) TRY(end_step());
    if (const auto place = places.find(key); place != places.end())
      step[place->second] = point;
  }
  TRY(rows.done());
  return end_step();
}

// The band is of all selected requests, with spans or not.
Result<ClickhouseStore::Band> ClickhouseStore::band_of(const std::string& where, double from,
                                                       double to) {
  Band band;
  if (from <= 0 && to >= 100) return band;
  Rows counted{
      TRY(select(fmt::format("SELECT count() FROM {} WHERE {}", schema_.all("request"), where)))};
  const auto count = counted.number<std::uint64_t>();
  TRY(counted.done());
  if (count == 0) return Band{0, to >= 100 ? band.high : 0};
  // In the middle between two ranks: no rounding finds another one.
  const auto level = [&](double p) {
    return (static_cast<double>(rank_of(count, p)) + 0.5) / static_cast<double>(count);
  };
  Rows rows{TRY(select(
      fmt::format("SELECT quantilesExactWeighted({:.17f}, {:.17f})(duration, 1) FROM {} WHERE {}",
                  level(from), level(to), schema_.all("request"), where)))};
  auto ranks = rows.array<std::uint64_t>();
  TRY(rows.done());
  ranks.resize(2);
  if (from > 0) band.low = ranks[0];
  if (to < 100) band.high = ranks[1];
  return band;
}

namespace {

// GROUP BY of the processes that sent in a range.
std::string processes_in(const TimeRange& range) {
  return fmt::format(
      "GROUP BY host, service, instance HAVING sum(batches) > 0 AND max(received) >= {} AND "
      "minIf(received, batches = 1) < {}",
      range.from, range.to);
}

}  // namespace

Result<std::vector<Sender>> ClickhouseStore::senders(const TimeRange& range) {
  const auto view = TRY(ledger_.view());
  Rows rows{TRY(select(fmt::format(
      "SELECT DISTINCT service, named, host FROM (SELECT service, host, argMaxIf(version, ord, "
      "batches = 1) AS named FROM {} WHERE {} {}) ORDER BY service, named, host",
      schema_.all("source"), view.condition(), processes_in(range))))};
  std::vector<Sender> found;
  while (rows.more()) {
    Sender one{.service = rows.text()};
    one.version = rows.text();
    one.host = rows.text();
    found.push_back(std::move(one));
  }
  TRY(rows.done());
  return found;
}

Result<std::vector<HostSummary>> ClickhouseStore::hosts(const TimeRange& range) {
  const auto view = TRY(ledger_.view());
  Rows rows{TRY(select(fmt::format(
      "SELECT host, service, argMaxIf(version, ord, batches = 1), hex(instance), "
      "argMinIf(pid, ord, batches = 1), argMinIf(runtime, ord, batches = 1), "
      "argMinIf(relay_version, ord, batches = 1), minIf(received, batches = 1) AS first, "
      "max(received), argMaxIf(skew, ord, batches = 1), sum(batches), sum(duplicates), "
      "max(written_requests), max(written_spans), sum(stored_requests), sum(stored_spans), "
      "sum(seen), sum(sampled), sum(lost_requests), sum(lost_spans), sum(cpu), "
      "max(written_samples), sum(stored_samples), sum(lost_samples) FROM {} WHERE {} {} "
      "ORDER BY host, service, first, hex(instance)",
      schema_.all("source"), view.condition(), processes_in(range))))};
  std::vector<HostSummary> found;
  while (rows.more()) {
    HostSummary host{.host = rows.text(),
                     .service = rows.text(),
                     .version = rows.text(),
                     .instance = rows.text()};
    std::transform(host.instance.begin(), host.instance.end(), host.instance.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    host.pid = rows.number<std::uint32_t>();
    host.runtime = rows.text();
    host.relay_version = rows.text();
    host.first = wall(rows.number<std::int64_t>());
    host.last = wall(rows.number<std::int64_t>());
    host.skew = nanoseconds{rows.number<std::int64_t>()};
    for (auto* count : {&host.batches, &host.duplicates, &host.written_requests,
                        &host.written_spans, &host.stored_requests, &host.stored_spans, &host.seen,
                        &host.sampled, &host.unrecorded_requests, &host.unrecorded_spans})
      *count = rows.number<std::uint64_t>();
    host.recorder_cpu = ns(rows.number<std::uint64_t>());
    for (auto* count : {&host.written_samples, &host.stored_samples, &host.unrecorded_samples})
      *count = rows.number<std::uint64_t>();
    host.lost_samples = host.written_samples - std::min(host.written_samples, host.stored_samples);
    host.lost_requests =
        host.written_requests - std::min(host.written_requests, host.stored_requests);
    host.lost_spans = host.written_spans - std::min(host.written_spans, host.stored_spans);
    if (host.seen > 0)
      host.sampling_percent =
          100 * static_cast<double>(host.sampled) / static_cast<double>(host.seen);
    found.push_back(std::move(host));
  }
  TRY(rows.done());
  return found;
}

}  // namespace clrscope::store
