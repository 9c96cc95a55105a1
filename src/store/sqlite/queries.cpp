#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "store/sqlite/flame_tree.h"
#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {

using std::chrono::nanoseconds;

namespace {

constexpr std::uint64_t kMostRequests = 50'000'000;  // of one query

nanoseconds ns(std::uint64_t count) { return nanoseconds{static_cast<std::int64_t>(count)}; }
WallTime wall(std::int64_t unix_ns) { return WallTime{nanoseconds{unix_ns}}; }

std::string hex(Bytes bytes) {
  std::string out;
  for (const auto byte : bytes) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

// The value of rank p (nearest rank) of sorted values.
std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = std::ceil(p / 100 * static_cast<double>(sorted.size()));
  const auto at = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

struct Durations {
  std::vector<std::uint64_t> values{};
  std::uint64_t errors = 0;
  std::uint64_t running = 0;

  Latency latency() {
    std::sort(values.begin(), values.end());
    return {.requests = values.size(),
            .errors = errors,
            .p50 = ns(percentile(values, 50)),
            .p90 = ns(percentile(values, 90)),
            .p99 = ns(percentile(values, 99)),
            .max = ns(values.empty() ? 0 : values.back()),
            .running = ns(running)};
  }
  void add(const ChunkHead& head, std::uint32_t at) {
    values.push_back(head.duration[at]);
    errors += head.status[at] >= 500 || head.error[at] != 0 ? 1 : 0;
    running += head.running[at];
  }
};

}  // namespace

class SqliteStore::Filter {
 public:
  Filter(const Selection& selection, const Names& names, const Sources& sources)
      : selection_(selection) {
    const auto space = selection.route.find(' ');
    if (!selection.route.empty() && selection.route.front() != '/' && space != std::string::npos) {
      method_ = names.find(selection.route.substr(0, space));
      nothing_ = method_ == 0;
      take_route(selection.route.substr(space + 1), names);
    } else if (!selection.route.empty()) {
      take_route(selection.route, names);
    }
    for (const auto& [id, source] : sources)
      if ((selection.host.empty() || source.host == selection.host) &&
          (selection.version.empty() || source.version == selection.version)) {
        if (id >= sources_.size()) sources_.resize(id + 1);
        sources_[id] = true;
      }
    any_source_ = selection.host.empty() && selection.version.empty();
  }

  bool nothing() const { return nothing_; }
  bool takes(const ChunkHead& head, std::size_t at, std::int64_t bucket) const {
    if (has_route_ && head.route[at] != route_) return false;
    if (method_ != 0 && head.method[at] != method_) return false;
    if (head.status[at] < selection_.status_from || head.status[at] > selection_.status_to)
      return false;
    if (!any_source_ && (head.source[at] >= sources_.size() || !sources_[head.source[at]]))
      return false;
    const auto begin = bucket * kBucket + static_cast<std::int64_t>(head.begin[at]);
    return begin >= selection_.range.from && begin < selection_.range.to;
  }

 private:
  void take_route(const std::string& route, const Names& names) {
    has_route_ = true;
    route_ = names.find(route);
    if (route == kNoRoute)
      route_ = 0;
    else if (route_ == 0)
      nothing_ = true;
  }

  static constexpr std::string_view kNoRoute = "(no route)";
  const Selection& selection_;
  std::uint32_t method_ = 0, route_ = 0;
  bool has_route_ = false, nothing_ = false, any_source_ = true;
  std::vector<bool> sources_;
};

template <class F>
auto SqliteStore::reading(F&& query) -> decltype(query(std::declval<Database&>())) {
  auto database = readers_.with([](auto& pool) -> std::unique_ptr<Database> {
    if (pool.empty()) return nullptr;
    auto one = std::move(pool.back());
    pool.pop_back();
    return one;
  });
  if (!database) database = TRY(Database::open(writer_->path(), Database::Mode::kRead));
  auto answer = [&]() -> decltype(query(std::declval<Database&>())) {
    const auto snapshot = TRY(Transaction::begin(*database, "BEGIN"));
    return query(*database);
  }();
  readers_.with([&](auto& pool) {
    if (pool.size() < 4) pool.push_back(std::move(database));
  });
  return answer;
}

Result<SqliteStore::Sources> SqliteStore::sources(Database& database) {
  Sources found;
  auto rows = TRY(database.prepare("SELECT id, host, version FROM source"));
  while (TRY(rows.step()))
    found[static_cast<std::uint32_t>(rows.integer(0))] = {rows.text(1), rows.text(2)};
  return found;
}

Result<> SqliteStore::visit(Database& database, const Selection& selection,
                            const OnChunk& on_chunk) {
  const auto known = TRY(sources(database));
  std::uint32_t service = 0;
  const auto filter = [&] {
    const std::shared_lock lock{naming_};
    service = names_.find(selection.service);
    return Filter{selection, names_, known};
  }();
  if (filter.nothing() || service == 0) return {};
  auto rows = TRY(database.prepare(
      "SELECT t, seq, head FROM chunk WHERE service = ? AND t >= ? AND t <= ? ORDER BY t, seq"));
  rows.bind(service, selection.range.from / kBucket, selection.range.to / kBucket);
  std::uint64_t total = 0;
  std::vector<std::uint32_t> taken;
  while (TRY(rows.step())) {
    const auto head = TRY(read_head(rows.blob(2)));
    taken.clear();
    for (std::uint32_t at = 0; at < head.size(); ++at)
      if (filter.takes(head, at, rows.integer(0))) taken.push_back(at);
    total += taken.size();
    if (total > kMostRequests)
      return fail(Errc::kTooLarge, "more than {} requests are selected", kMostRequests)
          .hint("choose a shorter time");
    if (!taken.empty()) TRY(on_chunk({rows.integer(0), rows.integer(1), head, taken}));
  }
  return {};
}

Result<std::vector<ServiceSummary>> SqliteStore::services(const TimeRange& range) {
  return reading([&](Database& database) -> Result<std::vector<ServiceSummary>> {
    auto rows = TRY(database.prepare(
        "SELECT service, sum(requests), sum(sampled), sum(errors), sum(spans), min(t), max(t) FROM "
        "chunk WHERE t >= ? AND t <= ? GROUP BY service"));
    rows.bind(range.from / kBucket, range.to / kBucket);
    std::vector<ServiceSummary> found;
    const std::shared_lock lock{naming_};
    while (TRY(rows.step()))
      found.push_back({.service = names_.text(static_cast<std::uint32_t>(rows.integer(0))),
                       .requests = rows.count(1),
                       .sampled = rows.count(2),
                       .errors = rows.count(3),
                       .spans = rows.count(4),
                       .first = wall(rows.integer(5) * kBucket),
                       .last = wall(rows.integer(6) * kBucket)});
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.service < b.service; });
    return found;
  });
}

Result<std::vector<RouteSummary>> SqliteStore::routes(const Selection& selection,
                                                      nanoseconds step) {
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // method, route
  std::map<Key, Durations> routes;
  std::map<Key, std::map<std::int64_t, Durations>> points;
  const auto visited = reading([&](Database& database) -> Result<> {
    return visit(database, selection, [&](const Visited& chunk) -> Result<> {
      for (const auto at : chunk.requests) {
        const Key key{chunk.head.method[at], chunk.head.route[at]};
        routes[key].add(chunk.head, at);
        if (step.count() <= 0) continue;
        const auto begin = chunk.bucket * kBucket + static_cast<std::int64_t>(chunk.head.begin[at]);
        points[key][begin / step.count()].add(chunk.head, at);
      }
      return {};
    });
  });
  if (!visited) return fail(visited.error());
  std::vector<RouteSummary> found;
  const std::shared_lock lock{naming_};
  for (auto& [key, durations] : routes) {
    const auto& route = names_.text(key.second);
    RouteSummary summary{
        .route = names_.text(key.first) + " " + (key.second == 0 ? "(no route)" : route),
        .latency = durations.latency()};
    for (auto& [at, one] : points[key])
      summary.points.push_back({wall(at * step.count()), one.latency()});
    found.push_back(std::move(summary));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.latency.running > b.latency.running;
  });
  return found;
}

Result<Flame> SqliteStore::flame(const FlameQuery& query) {
  if (!(query.from_percentile >= 0 && query.from_percentile < query.to_percentile &&
        query.to_percentile <= 100))
    return fail(Errc::kUsage, "percentiles must be 0 ≤ from < to ≤ 100, not {} and {}",
                query.from_percentile, query.to_percentile);
  struct Selected {
    std::int64_t bucket, seq;
    std::vector<std::uint32_t> first, spans;  // of each request with spans
    std::vector<std::uint64_t> duration;
  };
  std::vector<Selected> chunks;
  std::vector<std::uint64_t> durations;
  Flame flame;
  PathSums sums;
  const auto done = reading([&](Database& database) -> Result<> {
    TRY(visit(database, query.selection, [&](const Visited& chunk) -> Result<> {
      Selected selected{chunk.bucket, chunk.seq, {}, {}, {}};
      std::uint32_t span = 0, next = 0;
      for (const auto at : chunk.requests) {
        for (; next < at; ++next) span += chunk.head.spans[next];
        durations.push_back(chunk.head.duration[at]);
        if (chunk.head.spans[at] == 0) continue;
        selected.first.push_back(span);
        selected.spans.push_back(chunk.head.spans[at]);
        selected.duration.push_back(chunk.head.duration[at]);
      }
      if (!selected.first.empty()) chunks.push_back(std::move(selected));
      return {};
    }));
    // The band is of all selected requests, with spans or not.
    std::sort(durations.begin(), durations.end());
    const auto low = query.from_percentile <= 0 ? 0 : percentile(durations, query.from_percentile);
    const auto high =
        query.to_percentile >= 100 ? ~std::uint64_t{0} : percentile(durations, query.to_percentile);
    std::uint32_t service = 0;
    {
      const std::shared_lock lock{naming_};
      service = names_.find(query.selection.service);
      sums.resize(names_.paths());
    }
    auto rows =
        TRY(database.prepare("SELECT stacks FROM chunk WHERE service = ? AND t = ? AND seq = ?"));
    std::uint64_t shortest = ~std::uint64_t{0}, longest = 0;
    for (const auto& chunk : chunks) {
      const auto in_band = [&](std::size_t i) {
        return chunk.duration[i] >= low && chunk.duration[i] <= high;
      };
      bool any = false;
      for (std::size_t i = 0; i < chunk.first.size() && !any; ++i) any = in_band(i);
      if (!any) continue;
      rows.bind(service, chunk.bucket, chunk.seq);
      if (!TRY(rows.step())) continue;
      const auto stacks = TRY(read_stacks(rows.blob(0)));
      for (std::size_t i = 0; i < chunk.first.size(); ++i) {
        if (!in_band(i)) continue;
        if (chunk.first[i] + std::uint64_t{chunk.spans[i]} > stacks.path.size())
          return fail(Errc::kCorrupt, "the spans of a chunk are damaged");
        sums.add(stacks, chunk.first[i], chunk.spans[i]);
        ++flame.requests;
        flame.spans += chunk.spans[i];
        shortest = std::min(shortest, chunk.duration[i]);
        longest = std::max(longest, chunk.duration[i]);
      }
    }
    if (flame.requests > 0) flame.shortest = ns(shortest), flame.longest = ns(longest);
    return {};
  });
  if (!done) return fail(done.error());
  const std::shared_lock lock{naming_};
  sums.write(names_, flame);
  return flame;
}

Result<std::vector<StoredRequest>> SqliteStore::find(const TraceId& trace) {
  return reading([&](Database& database) -> Result<std::vector<StoredRequest>> {
    const auto known = TRY(sources(database));
    auto rows = TRY(database.prepare(
        "SELECT c.service, c.t, c.head, c.stacks, c.rest FROM trace AS i JOIN chunk AS c ON "
        "c.service = i.service AND c.t = i.t AND c.seq = i.seq WHERE i.key = ?"));
    rows.bind(trace_key(trace));
    std::vector<StoredRequest> found;
    while (TRY(rows.step())) {
      const auto head = TRY(read_head(rows.blob(2)));
      for (std::size_t at = 0; at < head.size(); ++at) {
        if (head.trace_id[at] != trace) continue;
        const auto stacks = TRY(read_stacks(rows.blob(3)));
        const auto spans = TRY(read_spans(head, at, stacks, rows.blob(4)));
        const std::shared_lock lock{naming_};
        const auto source = known.find(head.source[at]);
        const auto flags = head.flags[at];
        StoredRequest request{
            .trace_id = hex(trace),
            .service = names_.text(static_cast<std::uint32_t>(rows.integer(0))),
            .host = source == known.end() ? "" : source->second.host,
            .version = source == known.end() ? "" : source->second.version,
            .method = names_.text(head.method[at]),
            .route = names_.text(head.route[at]),
            .path = names_.text(head.path[at]),
            .error = names_.text(head.error[at]),
            .status = head.status[at],
            .flags = flags,
            .sampled = (flags & kSampled) != 0,
            .aborted = (flags & kAborted) != 0,
            .begin = wall(rows.integer(1) * kBucket + static_cast<std::int64_t>(head.begin[at])),
            .duration = ns(head.duration[at]),
            .running = ns(head.running[at]),
            .waiting = ns(head.waiting[at]),
            .queued = ns(head.queued[at]),
            .spans_lost = head.spans_lost[at]};
        for (const auto& span : spans) {
          constexpr std::string_view kOutcomes[] = {"returned", "faulted", "cancelled", "open"};
          StoredSpan one{.method = names_.text(names_.path(span.path).method),
                         .parent = span.parent,
                         .begin = ns(span.begin),
                         .duration = ns(span.duration),
                         .self = ns(span.self),
                         .queued = ns(span.queued),
                         .thread = span.thread,
                         .kind = span.kind,
                         .outcome = std::string{kOutcomes[span.kind & 3U]},
                         .is_async = (span.kind & 4U) != 0};
          for (const auto& step : span.steps)
            one.steps.push_back({ns(step.begin), ns(step.duration), step.thread});
          request.spans.push_back(std::move(one));
        }
        found.push_back(std::move(request));
      }
    }
    return found;
  });
}

Result<std::vector<HostSummary>> SqliteStore::hosts() {
  return reading([&](Database& database) -> Result<std::vector<HostSummary>> {
    auto rows = TRY(database.prepare(
        "SELECT host, service, version, instance, pid, runtime, relay_version, first, last, skew, "
        "batches, duplicates, written_requests, written_spans, stored_requests, stored_spans, "
        "seen, "
        "sampled, lost_requests, lost_spans, cpu FROM source ORDER BY host, service, first"));
    std::vector<HostSummary> found;
    while (TRY(rows.step())) {
      HostSummary host{.host = rows.text(0),
                       .service = rows.text(1),
                       .version = rows.text(2),
                       .instance = hex(rows.blob(3)),
                       .pid = static_cast<std::uint32_t>(rows.integer(4)),
                       .runtime = rows.text(5),
                       .relay_version = rows.text(6),
                       .first = wall(rows.integer(7)),
                       .last = wall(rows.integer(8)),
                       .skew = nanoseconds{rows.integer(9)},
                       .batches = rows.count(10),
                       .duplicates = rows.count(11),
                       .written_requests = rows.count(12),
                       .written_spans = rows.count(13),
                       .stored_requests = rows.count(14),
                       .stored_spans = rows.count(15),
                       .seen = rows.count(16),
                       .sampled = rows.count(17),
                       .unrecorded_requests = rows.count(18),
                       .unrecorded_spans = rows.count(19),
                       .recorder_cpu = nanoseconds{rows.integer(20)}};
      host.lost_requests =
          host.written_requests - std::min(host.written_requests, host.stored_requests);
      host.lost_spans = host.written_spans - std::min(host.written_spans, host.stored_spans);
      if (host.seen > 0)
        host.sampling_percent =
            100 * static_cast<double>(host.sampled) / static_cast<double>(host.seen);
      found.push_back(std::move(host));
    }
    return found;
  });
}

}  // namespace clrscope::store
