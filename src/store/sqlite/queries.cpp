#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "store/request_stacks.h"
#include "store/sqlite/flame_tree.h"
#include "store/sqlite/percentile.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {

using std::chrono::nanoseconds;

namespace {

constexpr std::uint64_t kMostRequests = 50'000'000;  // of one query

std::string hex(Bytes bytes) {
  std::string out;
  for (const auto byte : bytes) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

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
    if (!takes_route(head.method[at], head.route[at]) || !takes_source(head.source[at]))
      return false;
    if (head.status[at] < selection_.status_from || head.status[at] > selection_.status_to)
      return false;
    const auto begin = bucket * kBucket + static_cast<std::int64_t>(head.begin[at]);
    return begin >= selection_.range.from && begin < selection_.range.to;
  }

  // Whether only routes and sources decide about the requests of these buckets.
  bool covers(std::int64_t first, std::int64_t last) const {
    return selection_.status_from == 0 &&
           selection_.status_to >= std::numeric_limits<std::uint16_t>::max() &&
           first * kBucket >= selection_.range.from && last < selection_.range.to / kBucket;
  }
  // Nothing: its requests would have to be asked one by one.
  std::optional<bool> takes(const SumGroup& group) const {
    if (!takes_route(group.method, group.route)) return false;
    if (group.source == SumGroup::kAnySource && !any_source_) return std::nullopt;
    return takes_source(group.source);
  }

 private:
  bool takes_route(std::uint32_t method, std::uint32_t route) const {
    return (!has_route_ || route == route_) && (method_ == 0 || method == method_);
  }
  bool takes_source(std::uint32_t source) const {
    return any_source_ || (source < sources_.size() && sources_[source]);
  }
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

Result<SqliteStore::Sources> SqliteStore::sources(Database& database) {
  Sources found;
  auto rows = TRY(database.prepare("SELECT id, host, version FROM source"));
  while (TRY(rows.step()))
    found[static_cast<std::uint32_t>(rows.integer(0))] = {rows.text(1), rows.text(2)};
  return found;
}

StoredRequest SqliteStore::head_of(const ChunkHead& head, std::size_t at, std::int64_t bucket,
                                   std::string_view service, const Sources& known) const {
  const auto source = known.find(head.source[at]);
  const auto flags = head.flags[at];
  return {.trace_id = hex(head.trace_id[at]),
          .service = std::string{service},
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
          .forced = (flags & kForced) != 0,
          .begin = wall(bucket * kBucket + static_cast<std::int64_t>(head.begin[at])),
          .duration = ns(head.duration[at]),
          .running = ns(head.running[at]),
          .waiting = ns(head.waiting[at]),
          .queued = ns(head.queued[at]),
          .spans_lost = head.spans_lost[at],
          .span_count = head.spans[at],
          .sample_count = head.samples[at]};
}

Result<> SqliteStore::visit(Database& database, const Selection& selection, const OnChunk& on_chunk,
                            const OnSums& on_sums, FlameWeight weight) {
  const auto known = TRY(sources(database));
  std::uint32_t service = 0;
  const auto filter = [&] {
    const std::shared_lock lock{naming_};
    service = names_.find(selection.service);
    return Filter{selection, names_, known};
  }();
  const bool any_service = selection.service.empty();
  if (filter.nothing() || (service == 0 && !any_service)) return {};
  // Without a band of percentiles, chunks without samples have nothing to say about CPU time.
  const bool cpu = weight == FlameWeight::kCpu;
  auto rows = TRY(database.prepare(fmt::format(
      "SELECT t, seq, last, {}, head, service FROM chunk {} t > ?2 - ?4 AND t <= ?3 AND last >= ?2 "
      "{} ORDER BY {}",
      cpu ? "cpu_sums" : "sums",
      any_service ? "INDEXED BY chunk_by_time WHERE" : "WHERE service = ?1 AND",
      cpu && on_sums ? "AND samples > 0" : "", any_service ? "t" : "t, seq")));
  rows.bind(service, selection.range.from / kBucket, selection.range.to / kBucket, kWindow);
  std::uint64_t total = 0;
  std::vector<std::uint32_t> taken;
  while (TRY(rows.step())) {
    TRY(check_cancelled());
    const auto bucket = rows.integer(0);
    if (on_sums && !rows.blob(3).empty() && filter.covers(bucket, rows.integer(2))) {
      const auto sums = TRY(ChunkSums::read(rows.blob(3)));
      if (TRY(on_sums(sums, filter))) continue;
    }
    const auto head = TRY(read_head(rows.blob(4)));
    taken.clear();
    for (std::uint32_t at = 0; at < head.size(); ++at)
      if (filter.takes(head, at, bucket)) taken.push_back(at);
    total += taken.size();
    if (total > kMostRequests)
      return fail(Errc::kTooLarge, "more than {} requests are selected", kMostRequests)
          .hint("choose a shorter time");
    if (taken.empty()) continue;
    const auto of = static_cast<std::uint32_t>(rows.integer(5));
    TRY(on_chunk({of, bucket, rows.integer(1), head, taken}));
  }
  return {};
}

Result<std::vector<ServiceSummary>> SqliteStore::services(const TimeRange& range) {
  const auto from = range.from / kBucket, to = range.to / kBucket;
  struct Sum {
    ServiceSummary summary{};
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  };
  std::map<std::uint32_t, Sum> sums;
  const auto done = reading([&](Database& database) -> Result<> {
    auto whole = TRY(database.prepare(
        "SELECT service, sum(requests), sum(sampled), sum(errors), sum(spans), min(t), max(last) "
        "FROM chunk INDEXED BY chunk_by_time WHERE t >= ?1 AND t <= ?2 AND last <= ?2 "
        "GROUP BY service"));
    whole.bind(from, to);
    while (TRY(whole.step()))
      sums[static_cast<std::uint32_t>(whole.integer(0))] = {.summary = {.requests = whole.count(1),
                                                                        .sampled = whole.count(2),
                                                                        .errors = whole.count(3),
                                                                        .spans = whole.count(4)},
                                                            .first = whole.integer(5),
                                                            .last = whole.integer(6)};
    // Merged chunks at either end of the range.
    auto partly = TRY(database.prepare(
        "SELECT service, t, head FROM chunk INDEXED BY chunk_by_time WHERE t > ?1 - ?3 AND "
        "t <= ?2 AND last >= ?1 AND (t < ?1 OR last > ?2)"));
    partly.bind(from, to, kWindow);
    while (TRY(partly.step())) {
      const auto head = TRY(read_head(partly.blob(2)));
      for (std::size_t at = 0; at < head.size(); ++at) {
        const auto own = partly.integer(1) + static_cast<std::int64_t>(head.begin[at]) / kBucket;
        if (own < from || own > to) continue;
        auto& sum = sums[static_cast<std::uint32_t>(partly.integer(0))];
        ++sum.summary.requests;
        sum.summary.sampled += head.is_sampled(at) ? 1 : 0;
        sum.summary.errors += head.is_error(at) ? 1 : 0;
        sum.summary.spans += head.spans[at];
        sum.first = std::min(sum.first, own);
        sum.last = std::max(sum.last, own);
      }
    }
    return {};
  });
  if (!done) return fail(done.error());
  std::vector<ServiceSummary> found;
  const std::shared_lock lock{naming_};
  for (auto& [service, sum] : sums) {
    sum.summary.service = names_.text(service);
    sum.summary.first = wall(sum.first * kBucket);
    sum.summary.last = wall(sum.last * kBucket);
    found.push_back(std::move(sum.summary));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.service < b.service; });
  return found;
}

Result<Flame> SqliteStore::flame(const FlameQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  if (query.selection.service.empty()) return Flame{};
  struct Selected {
    std::int64_t bucket, seq;
    std::vector<std::uint32_t> first, count;  // spans or samples of each request that has some
    std::vector<std::uint64_t> duration;
  };
  std::vector<Selected> chunks;
  QueryMemory memory{limits_};
  std::vector<std::uint64_t> durations;
  Flame flame;
  const bool cpu = query.weight == FlameWeight::kCpu;
  std::uint64_t items = 0;  // spans or samples
  std::uint64_t shortest = ~std::uint64_t{0}, longest = 0;
  PathSums sums;
  const auto add_sums = [&](const ChunkSums& chunk, const Filter& filter) -> Result<bool> {
    std::vector<const SumGroup*> taken;
    for (const auto& group : chunk.groups()) {
      const auto takes = filter.takes(group);
      if (!takes) return false;
      if (*takes) taken.push_back(&group);
    }
    for (const auto* group : taken) {
      items += TRY(sums.add(*group));
      flame.requests += group->requests;
      shortest = std::min(shortest, group->shortest);
      longest = std::max(longest, group->longest);
    }
    return true;
  };
  const bool all = query.from_percentile <= 0 && query.to_percentile >= 100;
  const auto done = reading([&](Database& database) -> Result<> {
    {
      const std::shared_lock lock{naming_};
      sums.resize(names_.paths());
    }
    const auto select = [&](const Visited& chunk) -> Result<> {
      constexpr std::size_t kBytes = 2 * (2 * sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t));
      TRY(memory.take(chunk.requests.size() * kBytes));
      Selected selected{chunk.bucket, chunk.seq, {}, {}, {}};
      const auto& counts = cpu ? chunk.head.samples : chunk.head.spans;
      std::uint32_t item = 0, next = 0;
      for (const auto at : chunk.requests) {
        for (; next < at; ++next) item += counts[next];
        durations.push_back(chunk.head.duration[at]);
        if (counts[at] == 0) continue;
        selected.first.push_back(item);
        selected.count.push_back(counts[at]);
        selected.duration.push_back(chunk.head.duration[at]);
      }
      if (!selected.first.empty()) chunks.push_back(std::move(selected));
      return {};
    };
    TRY(visit(database, query.selection, select, all ? OnSums{add_sums} : OnSums{}, query.weight));
    // The band is of all selected requests, with spans or not.
    const auto [low, high] = band_of(durations, query.from_percentile, query.to_percentile);
    std::uint32_t service = 0;
    {
      const std::shared_lock lock{naming_};
      service = names_.find(query.selection.service);
    }
    auto rows = TRY(
        database.prepare(fmt::format("SELECT {} FROM chunk WHERE service = ? AND t = ? AND seq = ?",
                                     cpu ? "cpu_stacks" : "stacks")));
    for (const auto& chunk : chunks) {
      const auto in_band = [&](std::size_t i) {
        return chunk.duration[i] >= low && chunk.duration[i] <= high;
      };
      std::uint64_t first = ~std::uint64_t{0}, end = 0;  // spans of the band
      for (std::size_t i = 0; i < chunk.first.size(); ++i)
        if (in_band(i))
          first = std::min<std::uint64_t>(first, chunk.first[i]),
          end = std::max<std::uint64_t>(end, std::uint64_t{chunk.first[i]} + chunk.count[i]);
      if (first >= end) continue;
      TRY(check_cancelled());
      rows.bind(service, chunk.bucket, chunk.seq);
      if (!TRY(rows.step())) continue;
      const auto stacks = TRY(read_stacks(rows.blob(0), first, end - first));
      for (std::size_t i = 0; i < chunk.first.size(); ++i) {
        if (!in_band(i)) continue;
        if (!stacks.holds(chunk.first[i], chunk.count[i]))
          return fail(Errc::kCorrupt, "the spans of a chunk are damaged");
        sums.add(stacks, chunk.first[i], chunk.count[i]);
        ++flame.requests;
        items += chunk.count[i];
        shortest = std::min(shortest, chunk.duration[i]);
        longest = std::max(longest, chunk.duration[i]);
      }
    }
    if (flame.requests > 0) flame.shortest = ns(shortest), flame.longest = ns(longest);
    return {};
  });
  if (!done) return fail(done.error());
  (cpu ? flame.samples : flame.spans) = items;
  const std::shared_lock lock{naming_};
  sums.write(names_, flame);
  return flame;
}

namespace {

// Of one request.
Result<BatchSamples> samples_of(const ChunkHead& head, std::size_t at, Bytes stacks, Bytes rest) {
  if (head.samples[at] == 0) return BatchSamples{};
  const auto first =
      std::accumulate(head.samples.begin(), head.samples.begin() + static_cast<std::ptrdiff_t>(at),
                      std::uint64_t{0});
  const auto paths = TRY(read_stacks(stacks, first, head.samples[at]));
  return read_samples(head, at, 1, paths, rest);
}

}  // namespace

// Under naming_.
std::vector<std::string> SqliteStore::frames_of(std::uint32_t path) const {
  std::vector<std::string> frames;
  for (; path != 0 && frames.size() < kDeepestStack; path = names_.path(path).parent)
    frames.push_back(names_.text(names_.path(path).method));
  return frames;
}

Result<std::vector<StoredRequest>> SqliteStore::find(const TraceId& trace) {
  return reading([&](Database& database) -> Result<std::vector<StoredRequest>> {
    const auto known = TRY(sources(database));
    auto rows = TRY(database.prepare(
        "SELECT c.service, c.t, c.head, c.stacks, c.rest, c.cpu_stacks, c.cpu_rest FROM trace AS i "
        "JOIN chunk AS c ON "
        "c.service = i.service AND c.t > i.t - ?2 AND c.t <= i.t AND c.last >= i.t WHERE "
        "i.key = ?1 GROUP BY c.service, c.t, c.seq"));
    rows.bind(trace_key(trace), kWindow);
    std::vector<StoredRequest> found;
    while (TRY(rows.step())) {
      const auto head = TRY(read_head(rows.blob(2)));
      for (std::size_t at = 0; at < head.size(); ++at) {
        if (head.trace_id[at] != trace) continue;
        const auto first =
            std::accumulate(head.spans.begin(),
                            head.spans.begin() + static_cast<std::ptrdiff_t>(at), std::uint64_t{0});
        const auto stacks = TRY(read_stacks(rows.blob(3), first, head.spans[at]));
        const auto spans = TRY(read_spans(head, at, 1, stacks, rows.blob(4)));
        const auto samples = TRY(samples_of(head, at, rows.blob(5), rows.blob(6)));
        const std::shared_lock lock{naming_};
        const auto& service = names_.text(static_cast<std::uint32_t>(rows.integer(0)));
        auto request = head_of(head, at, rows.integer(1), service, known);
        std::size_t step = 0;
        for (std::size_t i = 0; i < spans.method.size(); ++i) {
          constexpr std::string_view kOutcomes[] = {"returned", "faulted", "cancelled", "open"};
          StoredSpan one{.method = names_.text(names_.path(spans.method[i]).method),
                         .parent = spans.parent[i],
                         .begin = ns(spans.begin[i]),
                         .duration = ns(spans.duration[i]),
                         .self = ns(spans.self[i]),
                         .queued = ns(spans.queued[i]),
                         .thread = spans.thread[i],
                         .kind = spans.kind[i],
                         .outcome = std::string{kOutcomes[spans.kind[i] & 3U]},
                         .is_async = (spans.kind[i] & 4U) != 0};
          for (const auto end = step + spans.steps[i]; step < end; ++step)
            one.steps.push_back({ns(spans.step_begin[step]), ns(spans.step_duration[step]),
                                 spans.step_thread[step]});
          request.spans.push_back(std::move(one));
        }
        add_stacks<std::uint32_t>(
            samples.stack, samples.span, samples.weight,
            [&](std::uint32_t path) { return frames_of(path); }, request);
        found.push_back(std::move(request));
      }
    }
    std::ranges::sort(found, {}, [](const StoredRequest& one) {
      return std::tie(one.service, one.begin, one.host);
    });
    return found;
  });
}

Result<std::vector<Sender>> SqliteStore::senders(const TimeRange& range) {
  return reading([&](Database& database) -> Result<std::vector<Sender>> {
    auto rows = TRY(
        database.prepare("SELECT DISTINCT service, version, host FROM source WHERE last >= ?1 AND "
                         "first < ?2 ORDER BY service, version, host"));
    rows.bind(range.from, range.to);
    std::vector<Sender> found;
    while (TRY(rows.step())) found.push_back({rows.text(0), rows.text(1), rows.text(2)});
    return found;
  });
}

Result<std::vector<HostSummary>> SqliteStore::hosts(const TimeRange& range) {
  return reading([&](Database& database) -> Result<std::vector<HostSummary>> {
    auto rows = TRY(database.prepare(
        "SELECT host, service, version, instance, pid, runtime, relay_version, first, last, skew, "
        "batches, duplicates, written_requests, written_spans, stored_requests, stored_spans, "
        "seen, "
        "sampled, lost_requests, lost_spans, cpu, written_samples, stored_samples, lost_samples "
        "FROM "
        "source WHERE last >= ?1 AND first < ?2 ORDER BY host, service, first, instance"));
    rows.bind(range.from, range.to);
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
                       .recorder_cpu = nanoseconds{rows.integer(20)},
                       .written_samples = rows.count(21),
                       .stored_samples = rows.count(22),
                       .unrecorded_samples = rows.count(23)};
      host.lost_requests =
          host.written_requests - std::min(host.written_requests, host.stored_requests);
      host.lost_spans = host.written_spans - std::min(host.written_spans, host.stored_spans);
      host.lost_samples =
          host.written_samples - std::min(host.written_samples, host.stored_samples);
      if (host.seen > 0)
        host.sampling_percent =
            100 * static_cast<double>(host.sampled) / static_cast<double>(host.seen);
      found.push_back(std::move(host));
    }
    return found;
  });
}

}  // namespace clrscope::store
