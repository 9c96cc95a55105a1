// Durations of groups of requests, in all and over time.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/clickhouse_store.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {

using std::chrono::nanoseconds;

namespace {

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
  const auto keep = [&](std::size_t place, const RoutePoint& point) -> Result<> {
    found[place].points.push_back(point);
    return {};
  };
  TRY(steps(query, view, places, kLargestHeld, keep));
  return found;
}

Result<> ClickhouseStore::points(const SeriesQuery& query, const OnPoint& on_point) {
  const auto view = TRY(ledger_.view());
  Places places;
  const auto found = TRY(totals(query, view, places));
  const auto pass_on = [&](std::size_t place, const RoutePoint& point) {
    return on_point(found[place].group, point);
  };
  return steps(query, view, places, kUnlimited, pass_on);
}

Result<std::vector<Series>> ClickhouseStore::totals(const SeriesQuery& query,
                                                    const Ledger::View& view, Places& places) {
  if (query.selection.service.empty() && query.by != GroupBy::kService)
    return fail(Errc::kUsage, "service is required");
  auto body = TRY(from_rollups(query, Points::kNone, view, kLargestHeld));
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
                                const Places& places, std::uint64_t limit, const OnStep& on_step) {
  if (query.step.count() <= 0 || places.empty()) return {};
  auto body = TRY(from_rollups(query, Points::kSteps, view, limit));
  const bool rolled = body.has_value();
  if (!body)
    body = TRY(
        select(fmt::format("SELECT {0}, intDiv(begin, {4}) AS point, {1}, {5} FROM {2} WHERE {3} "
                           "GROUP BY {0}, point ORDER BY point",
                           columns_of(query.by), kLatency, schema_.all("request"),
                           where(query.selection, view), query.step.count(), kRowEndColumn),
               limit));
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
    if (const auto place = places.find(key); place != places.end()) step[place->second] = point;
  }
  TRY(rows.done());
  return end_step();
}

}  // namespace clrscope::store
