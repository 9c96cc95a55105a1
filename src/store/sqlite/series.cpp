// Durations of groups of requests, in all and over time; the slowest requests.
#include <algorithm>
#include <limits>
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

Result<> check_series(const SeriesQuery& query) {
  if (query.selection.service.empty() && query.by != GroupBy::kService)
    return fail(Errc::kUsage, "service is required");
  return {};
}

std::int64_t begin_of(const ChunkHead& head, std::uint32_t at, std::int64_t bucket) {
  return bucket * kBucket + static_cast<std::int64_t>(head.begin[at]);
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

// Sources of one host or version are one group: the first stands for all.
class SqliteStore::Grouping {
 public:
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  Grouping(GroupBy by, Sources known) : by_(by), known_(std::move(known)) {
    std::map<std::string, std::uint32_t> by_name;
    if (by == GroupBy::kHost || by == GroupBy::kVersion)
      for (const auto& [id, source] : known_)
        first_[id] = by_name.try_emplace(text_of(id), id).first->second;
  }

  Key of(const Visited& chunk, std::uint32_t at) const {
    const auto& head = chunk.head;
    switch (by_) {
      case GroupBy::kService:
        return {chunk.service, 0};
      case GroupBy::kVersion:
      case GroupBy::kHost: {
        const auto first = first_.find(head.source[at]);
        return {first == first_.end() ? 0 : first->second, 0};
      }
      case GroupBy::kRoute:
        return {head.method[at], head.route[at]};
      case GroupBy::kStatus:
        return {head.status[at], 0};
    }
    return {};
  }

  std::string name(const Key& key, const Names& names) const {
    switch (by_) {
      case GroupBy::kService:
        return names.text(key.first);
      case GroupBy::kVersion:
      case GroupBy::kHost:
        return text_of(key.first);
      case GroupBy::kRoute:
        return names.text(key.first) + " " +
               (key.second == 0 ? "(no route)" : names.text(key.second));
      case GroupBy::kStatus:
        return std::to_string(key.first);
    }
    return {};
  }

 private:
  std::string text_of(std::uint32_t id) const {
    const auto source = known_.find(id);
    if (source == known_.end()) return {};
    return by_ == GroupBy::kHost ? source->second.host : source->second.version;
  }

  const GroupBy by_;
  const Sources known_;
  std::map<std::uint32_t, std::uint32_t> first_;  // by source
};

Result<std::vector<Series>> SqliteStore::series(const SeriesQuery& query) {
  TRY(check_series(query));
  struct Group {
    Durations all{};
    std::uint64_t samples = 0, cpu = 0;
    std::map<std::int64_t, Durations> points{};  // by number of the step
  };
  const auto step = query.step.count();
  QueryMemory memory{limits_};
  auto first = query.selection.range.to;  // begin of the first request
  auto found = reading([&](Database& database) -> Result<std::vector<Series>> {
    const Grouping grouping{query.by, TRY(sources(database))};
    std::map<Grouping::Key, Group> groups;
    auto stacks = TRY(database.prepare(
        "SELECT cpu_stacks FROM chunk WHERE service = ? AND t = ? AND seq = ? AND samples > 0"));
    const auto collect = [&](const Visited& chunk) -> Result<> {
      TRY(memory.take(chunk.requests.size() * kBytesOfValue * (step > 0 ? 2 : 1)));
      std::vector<std::uint64_t> cpu(chunk.requests.size());
      if (query.cpu) {
        stacks.bind(chunk.service, chunk.bucket, chunk.seq);
        if (TRY(stacks.step())) cpu = TRY(cpu_times(chunk.head, chunk.requests, stacks.blob(0)));
      }
      std::size_t place = 0;
      for (const auto at : chunk.requests) {
        auto& group = groups[grouping.of(chunk, at)];
        group.all.add(chunk.head, at);
        group.samples += query.cpu ? chunk.head.samples[at] : 0;
        group.cpu += cpu[place++];
        const auto begin = begin_of(chunk.head, at, chunk.bucket);
        first = std::min(first, begin);
        if (step > 0) {
          const auto [point, is_new] = group.points.try_emplace(begin / step);
          if (is_new) TRY(memory.take(kBytesOfPoint));
          point->second.add(chunk.head, at);
        }
      }
      return {};
    };
    TRY(visit(database, query.selection, collect));
    std::vector<Series> all;
    const std::shared_lock lock{naming_};
    for (auto& [key, group] : groups) {
      auto& series = all.emplace_back();
      series.group = grouping.name(key, names_);
      series.latency = group.all.latency();
      series.samples = group.samples;
      series.cpu = ns(group.cpu);
      for (const auto p : query.percentiles)
        series.percentiles.push_back(ns(percentile(group.all.values, p)));  // sorted by latency()
      for (auto& [at, durations] : group.points)
        series.points.push_back({wall(at * step), durations.latency()});
    }
    return all;
  });
  if (!found) return found;
  const auto end = std::min(query.selection.range.to, query.now.time_since_epoch().count());
  const auto seconds = static_cast<double>(end - std::max(first, query.selection.range.from)) / 1e9;
  if (seconds >= 1)
    for (auto& one : *found)
      one.latency.per_second = static_cast<double>(one.latency.requests) / seconds;
  std::sort(found->begin(), found->end(),
            [&](const Series& a, const Series& b) { return comes_before(query.by, a, b); });
  return found;
}

// Twice over the chunks: the groups of a step are in the order of all their requests. No chunk
// begins before one that was read, so what lies before the next one is complete.
Result<> SqliteStore::points(const SeriesQuery& query, const OnPoint& on_point) {
  TRY(check_series(query));
  const auto step = query.step.count();
  if (step <= 0) return {};
  return reading([&](Database& database) -> Result<> {
    const Grouping grouping{query.by, TRY(sources(database))};
    std::map<Grouping::Key, Series> groups;
    const auto count = [&](const Visited& chunk) -> Result<> {
      for (const auto at : chunk.requests) {
        auto& latency = groups[grouping.of(chunk, at)].latency;
        ++latency.requests;
        latency.running += ns(chunk.head.running[at]);
      }
      return {};
    };
    TRY(visit(database, query.selection, count));
    std::vector<std::pair<Grouping::Key, Series>> ordered;
    {
      const std::shared_lock lock{naming_};
      for (auto& [key, series] : groups) {
        series.group = grouping.name(key, names_);
        ordered.emplace_back(key, std::move(series));
      }
    }
    std::sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
      return comes_before(query.by, a.second, b.second);
    });
    std::map<Grouping::Key, std::size_t> places;
    for (std::size_t place = 0; place < ordered.size(); ++place)
      places[ordered[place].first] = place;

    QueryMemory memory{limits_};
    std::map<std::int64_t, std::map<std::size_t, Durations>> open;  // by step and place
    const auto end_steps_before = [&](std::int64_t end) -> Result<> {
      for (; !open.empty() && open.begin()->first < end; open.erase(open.begin()))
        for (auto& [place, durations] : open.begin()->second) {
          TRY(check_cancelled());
          memory.give_back(kBytesOfPoint + durations.values.size() * kBytesOfValue);
          TRY(on_point(ordered[place].second.group,
                       {wall(open.begin()->first * step), durations.latency()}));
        }
      return {};
    };
    const auto collect = [&](const Visited& chunk) -> Result<> {
      TRY(end_steps_before(chunk.bucket * kBucket / step));
      TRY(memory.take(chunk.requests.size() * kBytesOfValue));
      for (const auto at : chunk.requests) {
        const auto [point, is_new] =
            open[begin_of(chunk.head, at, chunk.bucket) / step].try_emplace(
                places.at(grouping.of(chunk, at)));
        if (is_new) TRY(memory.take(kBytesOfPoint));
        point->second.add(chunk.head, at);
      }
      return {};
    };
    TRY(visit(database, query.selection, collect));
    return end_steps_before(std::numeric_limits<std::int64_t>::max());
  });
}

Result<std::vector<StoredRequest>> SqliteStore::slowest(const SlowestQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  if (query.selection.service.empty()) return std::vector<StoredRequest>{};
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
