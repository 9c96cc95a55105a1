// Durations of groups of requests, in all and over time; the slowest requests.
#include <algorithm>

#include "store/sqlite/percentile.h"
#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {

using std::chrono::nanoseconds;

namespace {

struct Durations {
  std::vector<std::uint64_t> values{};
  std::uint64_t errors = 0;
  std::uint64_t sampled = 0;
  std::uint64_t running = 0, waiting = 0, queued = 0;

  Latency latency() {
    std::sort(values.begin(), values.end());
    return {.requests = values.size(),
            .errors = errors,
            .sampled = sampled,
            .p50 = ns(percentile(values, 50)),
            .p90 = ns(percentile(values, 90)),
            .p95 = ns(percentile(values, 95)),
            .p99 = ns(percentile(values, 99)),
            .max = ns(values.empty() ? 0 : values.back()),
            .running = ns(running),
            .waiting = ns(waiting),
            .queued = ns(queued)};
  }
  void add(const ChunkHead& head, std::uint32_t at) {
    values.push_back(head.duration[at]);
    errors += head.is_error(at) ? 1 : 0;
    sampled += head.is_sampled(at) ? 1 : 0;
    running += head.running[at];
    waiting += head.waiting[at];
    queued += head.queued[at];
  }
};

struct Group {
  Durations all{};
  std::map<std::int64_t, Durations> points{};  // by number of the step
};

Series series_of(std::string name, Group& group, const SeriesQuery& query) {
  Series series{.group = std::move(name), .latency = group.all.latency()};
  for (const auto p : query.percentiles)
    series.percentiles.push_back(ns(percentile(group.all.values, p)));  // sorted by latency()
  for (auto& [at, durations] : group.points)
    series.points.push_back({wall(at * query.step.count()), durations.latency()});
  return series;
}

}  // namespace

Result<std::vector<RouteSummary>> SqliteStore::routes(const Selection& selection,
                                                      nanoseconds step) {
  std::vector<RouteSummary> found;
  for (auto& one : TRY(series({.selection = selection, .by = GroupBy::kRoute, .step = step})))
    found.push_back({std::move(one.group), one.latency, std::move(one.points)});
  return found;
}

Result<std::vector<Series>> SqliteStore::series(const SeriesQuery& query) {
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  auto selection = query.selection;
  std::vector<std::string> services{selection.service};
  if (selection.service.empty()) {
    if (query.by != GroupBy::kService) return fail(Errc::kUsage, "service is required");
    services.clear();
    for (auto& one : TRY(this->services(selection.range)))
      services.push_back(std::move(one.service));
  }
  const auto step = query.step.count();
  auto first = selection.range.to;  // begin of the first request
  std::vector<Series> found;
  for (const auto& service : services) {
    selection.service = service;
    std::map<Key, Group> groups;
    Sources known;
    const auto key_of = [&](const ChunkHead& head, std::uint32_t at) -> Key {
      switch (query.by) {
        case GroupBy::kService:
          return {};
        case GroupBy::kVersion:
        case GroupBy::kHost:
          return {head.source[at], 0};
        case GroupBy::kRoute:
          return {head.method[at], head.route[at]};
        case GroupBy::kStatus:
          return {head.status[at], 0};
      }
      return {};
    };
    const auto visited = reading([&](Database& database) -> Result<> {
      known = TRY(sources(database));
      // Sources of one host or version are one group: the first stands for all.
      std::map<std::string, std::uint32_t> by_name;
      std::map<std::uint32_t, std::uint32_t> group_of;
      if (query.by == GroupBy::kHost || query.by == GroupBy::kVersion)
        for (const auto& [id, source] : known)
          group_of[id] =
              by_name.try_emplace(query.by == GroupBy::kHost ? source.host : source.version, id)
                  .first->second;
      return visit(database, selection, [&](const Visited& chunk) -> Result<> {
        for (const auto at : chunk.requests) {
          auto key = key_of(chunk.head, at);
          if (!group_of.empty()) key.first = group_of[key.first];
          auto& group = groups[key];
          group.all.add(chunk.head, at);
          const auto begin =
              chunk.bucket * kBucket + static_cast<std::int64_t>(chunk.head.begin[at]);
          first = std::min(first, begin);
          if (step > 0) group.points[begin / step].add(chunk.head, at);
        }
        return {};
      });
    });
    if (!visited) return fail(visited.error());
    const std::shared_lock lock{naming_};
    for (auto& [key, group] : groups) {
      const auto name = [&, one = key]() -> std::string {
        switch (query.by) {
          case GroupBy::kService:
            return service;
          case GroupBy::kVersion:
            return known[one.first].version;
          case GroupBy::kHost:
            return known[one.first].host;
          case GroupBy::kRoute:
            return names_.text(one.first) + " " +
                   (one.second == 0 ? "(no route)" : names_.text(one.second));
          case GroupBy::kStatus:
            return std::to_string(one.first);
        }
        return {};
      };
      found.push_back(series_of(name(), group, query));
    }
  }
  const auto end = std::min(selection.range.to, query.now.time_since_epoch().count());
  const auto seconds = static_cast<double>(end - std::max(first, selection.range.from)) / 1e9;
  if (seconds >= 1)
    for (auto& one : found)
      one.latency.per_second = static_cast<double>(one.latency.requests) / seconds;
  std::stable_sort(found.begin(), found.end(), [&](const Series& a, const Series& b) {
    return query.by == GroupBy::kRoute ? a.latency.running > b.latency.running
                                       : a.latency.requests > b.latency.requests;
  });
  return found;
}

Result<std::vector<StoredRequest>> SqliteStore::slowest(const SlowestQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  return reading([&](Database& database) -> Result<std::vector<StoredRequest>> {
    const auto known = TRY(sources(database));
    // The band is of all selected requests, with spans or not.
    std::vector<std::uint64_t> durations;
    if (query.from_percentile > 0 || query.to_percentile < 100)
      TRY(visit(database, query.selection, [&](const Visited& chunk) -> Result<> {
        for (const auto at : chunk.requests) durations.push_back(chunk.head.duration[at]);
        return {};
      }));
    const auto [low, high] = band_of(durations, query.from_percentile, query.to_percentile);
    std::vector<StoredRequest> found;  // a heap: the shortest is the first
    const auto longer = [](const StoredRequest& a, const StoredRequest& b) {
      return a.duration > b.duration;
    };
    TRY(visit(
        database, query.selection, [&, low = low, high = high](const Visited& chunk) -> Result<> {
          for (const auto at : chunk.requests) {
            const auto duration = chunk.head.duration[at];
            if ((chunk.head.flags[at] & kSampled) == 0 || duration < low || duration > high)
              continue;
            if (found.size() >= query.limit) {
              if (ns(duration) <= found.front().duration) continue;
              std::pop_heap(found.begin(), found.end(), longer);
              found.pop_back();
            }
            const std::shared_lock lock{naming_};
            found.push_back(head_of(chunk.head, at, chunk.bucket, query.selection.service, known));
            std::push_heap(found.begin(), found.end(), longer);
          }
          return {};
        }));
    std::sort_heap(found.begin(), found.end(), longer);
    return found;
  });
}

}  // namespace clrscope::store
