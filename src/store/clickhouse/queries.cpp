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
