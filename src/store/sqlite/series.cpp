// Durations of groups of requests, in all and over time; the slowest requests.
#include <algorithm>
#include <tuple>

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

// What a query keeps of each request that it selects; a vector that grows may have room for twice
// as many.
constexpr std::uint64_t kBytesOfValue = 2 * sizeof(std::uint64_t);
constexpr std::uint64_t kBytesOfPoint = sizeof(Durations) + 64;  // with its node of a map

struct Group {
  Durations all{};
  std::uint64_t samples = 0, cpu = 0;
  std::map<std::int64_t, Durations> points{};  // by number of the step
};

Series series_of(std::string name, Group& group, const SeriesQuery& query) {
  Series series{.group = std::move(name), .latency = group.all.latency()};
  series.samples = group.samples;
  series.cpu = ns(group.cpu);
  for (const auto p : query.percentiles)
    series.percentiles.push_back(ns(percentile(group.all.values, p)));  // sorted by latency()
  for (auto& [at, durations] : group.points)
    series.points.push_back({wall(at * query.step.count()), durations.latency()});
  return series;
}

// CPU time of each of these requests of a chunk, by the `stacks` of its samples.
Result<std::vector<std::uint64_t>> cpu_times(const ChunkHead& head,
                                             const std::vector<std::uint32_t>& requests,
                                             Bytes stacks) {
  std::vector<std::uint64_t> times(requests.size());
  const auto samples = TRY(read_stacks(stacks));
  std::uint64_t first = 0;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (; next < requests[i]; ++next) first += head.samples[next];
    const auto count = head.samples[requests[i]];
    if (!samples.holds(first, count))
      return fail(Errc::kCorrupt, "the CPU samples of a chunk are damaged");
    for (std::uint64_t at = first; at < first + count; ++at) times[i] += samples.self(at);
  }
  return times;
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
  QueryMemory memory{limits_};
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
      std::uint32_t number = 0;
      {
        const std::shared_lock lock{naming_};
        number = names_.find(service);
      }
      auto stacks = TRY(database.prepare(
          "SELECT cpu_stacks FROM chunk WHERE service = ? AND t = ? AND seq = ? AND samples > 0"));
      return visit(database, selection, [&](const Visited& chunk) -> Result<> {
        TRY(memory.take(chunk.requests.size() * kBytesOfValue * (step > 0 ? 2 : 1)));
        std::vector<std::uint64_t> cpu(chunk.requests.size());
        if (query.cpu) {
          stacks.bind(number, chunk.bucket, chunk.seq);
          if (TRY(stacks.step())) cpu = TRY(cpu_times(chunk.head, chunk.requests, stacks.blob(0)));
        }
        std::size_t place = 0;
        for (const auto at : chunk.requests) {
          auto key = key_of(chunk.head, at);
          if (!group_of.empty()) key.first = group_of[key.first];
          auto& group = groups[key];
          group.all.add(chunk.head, at);
          group.samples += query.cpu ? chunk.head.samples[at] : 0;
          group.cpu += cpu[place++];
          const auto begin =
              chunk.bucket * kBucket + static_cast<std::int64_t>(chunk.head.begin[at]);
          first = std::min(first, begin);
          if (step > 0) {
            const auto [point, is_new] = group.points.try_emplace(begin / step);
            if (is_new) TRY(memory.take(kBytesOfPoint));
            point->second.add(chunk.head, at);
          }
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
  std::sort(found.begin(), found.end(), [&](const Series& a, const Series& b) {
    const auto weight = [&](const Series& one) {
      return query.by == GroupBy::kRoute ? static_cast<std::uint64_t>(one.latency.running.count())
                                         : one.latency.requests;
    };
    return weight(a) != weight(b) ? weight(a) > weight(b) : a.group < b.group;
  });
  return found;
}

Result<std::vector<StoredRequest>> SqliteStore::slowest(const SlowestQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  return reading([&](Database& database) -> Result<std::vector<StoredRequest>> {
    const auto known = TRY(sources(database));
    // The band is of all selected requests, with spans or not.
    std::vector<std::uint64_t> durations;
    QueryMemory memory{limits_};
    if (query.from_percentile > 0 || query.to_percentile < 100) {
      const auto collect = [&](const Visited& chunk) -> Result<> {
        TRY(memory.take(chunk.requests.size() * kBytesOfValue));
        for (const auto at : chunk.requests) durations.push_back(chunk.head.duration[at]);
        return {};
      };
      TRY(visit(database, query.selection, collect));
    }
    const auto [low, high] = band_of(durations, query.from_percentile, query.to_percentile);
    std::vector<StoredRequest> found;  // a heap: the last one is the first
    const auto before = [](const StoredRequest& a, const StoredRequest& b) {
      return std::tie(b.duration, a.trace_id, a.begin, a.host) <
             std::tie(a.duration, b.trace_id, b.begin, b.host);
    };
    TRY(visit(database, query.selection,
              [&, low = low, high = high](const Visited& chunk) -> Result<> {
                for (const auto at : chunk.requests) {
                  const auto duration = chunk.head.duration[at];
                  if ((chunk.head.flags[at] & kSampled) == 0 || duration < low || duration > high)
                    continue;
                  const bool full = found.size() >= query.limit;
                  if (full && ns(duration) < found.front().duration) continue;
                  auto one = [&] {
                    const std::shared_lock lock{naming_};
                    return head_of(chunk.head, at, chunk.bucket, query.selection.service, known);
                  }();
                  if (full) {
                    if (!before(one, found.front())) continue;
                    std::pop_heap(found.begin(), found.end(), before);
                    found.pop_back();
                  }
                  found.push_back(std::move(one));
                  std::push_heap(found.begin(), found.end(), before);
                }
                return {};
              }));
    std::sort_heap(found.begin(), found.end(), before);
    return found;
  });
}

}  // namespace clrscope::store
