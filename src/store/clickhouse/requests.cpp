// Single requests.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/clickhouse_store.h"
#include "store/request_stacks.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {
namespace {

constexpr std::string_view kHead =
    "lower(hex(trace)), service, host, version, method, route, path, error, status, flags, begin, "
    "duration, running, waiting, queued, spans_lost, spans, samples";
constexpr std::string_view kSpans =
    "span_path, span_self, span_parent, span_begin, span_duration, span_queued, span_thread, "
    "span_kind, span_steps, step_begin, step_duration, step_thread, sample_path, sample_weight, "
    "sample_span";
constexpr std::size_t kPathsAtOnce = 50'000;

StoredRequest read_head(Rows& rows) {
  StoredRequest one;
  for (auto* text : {&one.trace_id, &one.service, &one.host, &one.version, &one.method, &one.route,
                     &one.path, &one.error})
    *text = rows.text();
  one.status = rows.number<std::uint16_t>();
  one.flags = rows.number<std::uint8_t>();
  one.sampled = (one.flags & kSampled) != 0;
  one.aborted = (one.flags & kAborted) != 0;
  one.forced = (one.flags & kForced) != 0;
  one.begin = wall(rows.number<std::int64_t>());
  for (auto* time : {&one.duration, &one.running, &one.waiting, &one.queued})
    *time = ns(rows.number<std::uint64_t>());
  one.spans_lost = rows.number<std::uint32_t>();
  one.span_count = rows.number<std::uint32_t>();
  one.sample_count = rows.number<std::uint32_t>();
  return one;
}

// The spans of a request; methods are call paths.
BatchSpans read_spans(Rows& rows, std::vector<std::uint64_t>& paths) {
  BatchSpans spans;
  paths = rows.array<std::uint64_t>();
  spans.self = rows.array<std::uint64_t>();
  spans.parent = rows.array<std::uint32_t>();
  spans.begin = rows.array<std::uint64_t>();
  spans.duration = rows.array<std::uint64_t>();
  spans.queued = rows.array<std::uint64_t>();
  spans.thread = rows.array<std::uint32_t>();
  spans.kind = rows.array<std::uint32_t>();
  spans.steps = rows.array<std::uint32_t>();
  spans.step_begin = rows.array<std::uint64_t>();
  spans.step_duration = rows.array<std::uint64_t>();
  spans.step_thread = rows.array<std::uint32_t>();
  return spans;
}

struct Samples {
  std::vector<std::uint64_t> path{}, weight{};
  std::vector<std::uint32_t> span{};
  bool fit_together() const { return weight.size() == path.size() && span.size() == path.size(); }
};

Samples read_samples(Rows& rows) {
  Samples samples;
  samples.path = rows.array<std::uint64_t>();
  samples.weight = rows.array<std::uint64_t>();
  samples.span = rows.array<std::uint32_t>();
  return samples;
}

bool fit_together(const BatchSpans& spans, std::size_t count) {
  std::uint64_t steps = 0;
  for (const auto one : spans.steps) steps += one;
  for (const auto size :
       {spans.self.size(), spans.parent.size(), spans.begin.size(), spans.duration.size(),
        spans.queued.size(), spans.thread.size(), spans.kind.size(), spans.steps.size()})
    if (size != count) return false;
  return spans.step_begin.size() == steps && spans.step_duration.size() == steps &&
         spans.step_thread.size() == steps;
}

}  // namespace

Result<ClickhouseStore::CallPaths> ClickhouseStore::paths_of(std::vector<std::uint64_t> wanted) {
  CallPaths found;
  // A query per caller: what was stored before batches had this limit may be deeper.
  for (std::size_t depth = 0; !wanted.empty(); ++depth) {
    if (depth == kDeepestStack) {
      for (const auto path : wanted) found.try_emplace(path, CallPath{0, "(deeper)"});
      break;
    }
    std::vector<std::uint64_t> missing;
    cached_.with([&](CallPaths& cached) {
      for (const auto path : wanted)
        if (const auto known = cached.find(path); known != cached.end())
          found.insert(*known);
        else
          missing.push_back(path);
    });
    for (std::size_t first = 0; first < missing.size(); first += kPathsAtOnce) {
      std::string list;
      const auto end = std::min(missing.size(), first + kPathsAtOnce);
      for (auto i = first; i < end; ++i)
        list += fmt::format("{}{}", list.empty() ? "" : ",", missing[i]);
      Rows rows{TRY(select(fmt::format("SELECT path, parent, method FROM {} WHERE path IN ({})",
                                       schema_.all("path"), list)))};
      CallPaths fresh;
      while (rows.more()) {
        const auto path = rows.number<std::uint64_t>();
        const auto parent = rows.number<std::uint64_t>();
        fresh[path] = {parent, rows.text()};
      }
      TRY(rows.done());
      found.insert(fresh.begin(), fresh.end());
      cached_.with([&](CallPaths& cached) {
        constexpr std::size_t kMost = 1'000'000;
        if (cached.size() > kMost) cached.clear();
        cached.insert(fresh.begin(), fresh.end());
      });
    }
    std::vector<std::uint64_t> callers;
    for (const auto path : wanted) {
      const auto& call = found.try_emplace(path, CallPath{0, "(unknown)"}).first->second;
      if (call.parent != 0 && !found.contains(call.parent)) callers.push_back(call.parent);
    }
    std::sort(callers.begin(), callers.end());
    callers.erase(std::unique(callers.begin(), callers.end()), callers.end());
    wanted = std::move(callers);
  }
  return found;
}

Result<std::vector<StoredRequest>> ClickhouseStore::requests_of(const std::string& sql,
                                                                bool with_spans) {
  Rows rows{TRY(select(sql))};
  std::vector<StoredRequest> found;
  std::vector<std::vector<std::uint64_t>> paths;
  std::vector<Samples> samples;
  while (rows.more()) {
    auto request = read_head(rows);
    if (with_spans) {
      const auto spans = read_spans(rows, paths.emplace_back());
      samples.push_back(read_samples(rows));
      if (!fit_together(spans, paths.back().size()) || !samples.back().fit_together())
        return fail(Errc::kCorrupt, "the spans of request {} are damaged", request.trace_id);
      std::size_t step = 0;
      for (std::size_t i = 0; i < spans.parent.size(); ++i) {
        constexpr std::string_view kOutcomes[] = {"returned", "faulted", "cancelled", "open"};
        StoredSpan one{.parent = spans.parent[i],
                       .begin = ns(spans.begin[i]),
                       .duration = ns(spans.duration[i]),
                       .self = ns(spans.self[i]),
                       .queued = ns(spans.queued[i]),
                       .thread = spans.thread[i],
                       .kind = spans.kind[i],
                       .outcome = std::string{kOutcomes[spans.kind[i] & 3U]},
                       .is_async = (spans.kind[i] & 4U) != 0};
        for (const auto end = step + spans.steps[i]; step < end; ++step)
          one.steps.push_back(
              {ns(spans.step_begin[step]), ns(spans.step_duration[step]), spans.step_thread[step]});
        request.spans.push_back(std::move(one));
      }
    }
    found.push_back(std::move(request));
  }
  TRY(rows.done());
  std::vector<std::uint64_t> wanted;
  for (const auto& some : paths) wanted.insert(wanted.end(), some.begin(), some.end());
  for (const auto& some : samples) wanted.insert(wanted.end(), some.path.begin(), some.path.end());
  const auto known = TRY(paths_of(std::move(wanted)));
  for (std::size_t i = 0; i < paths.size(); ++i)
    for (std::size_t k = 0; k < paths[i].size(); ++k)
      found[i].spans[k].method = known.at(paths[i][k]).method;
  const auto frames_of = [&](std::uint64_t path) {
    std::vector<std::string> frames;
    while (path != 0 && frames.size() <= kDeepestStack) {
      const auto& call = known.at(path);
      frames.push_back(call.method);
      path = call.parent;
    }
    return frames;
  };
  for (std::size_t i = 0; i < samples.size(); ++i)
    add_stacks<std::uint64_t>(samples[i].path, samples[i].span, samples[i].weight, frames_of,
                              found[i]);
  return found;
}

Result<std::vector<StoredRequest>> ClickhouseStore::slowest(const SlowestQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  if (query.selection.service.empty()) return std::vector<StoredRequest>{};
  const auto where = TRY(this->where(query.selection));
  const auto band = TRY(band_of(where, query.from_percentile, query.to_percentile));
  // bitNot(duration) instead of duration DESC: ClickHouse 26.5 fails ("__topKFilter") where rows
  // are ordered by a column, and then by one of another type.
  return requests_of(
      fmt::format("SELECT {} FROM {} WHERE {} AND bitAnd(flags, 1) = 1 AND duration >= {} AND "
                  "duration <= {} ORDER BY bitNot(duration), trace, begin, host LIMIT {}",
                  kHead, schema_.all("request"), where, band.low, band.high, query.limit),
      false);
}

Result<std::vector<StoredRequest>> ClickhouseStore::find(const TraceId& trace) {
  if (trace == TraceId{}) return std::vector<StoredRequest>{};  // of requests without one
  const auto condition = TRY(ledger_.view()).condition();
  std::string hex;
  for (const auto byte : trace) hex += fmt::format("{:02x}", byte);
  const auto is_trace = fmt::format("trace = toFixedString(unhex('{}'), 16)", hex);
  Rows rows{TRY(select(fmt::format("SELECT DISTINCT service, bucket FROM {} WHERE {} AND {}",
                                   schema_.all("trace"), is_trace, condition)))};
  std::string places;
  while (rows.more()) {
    const auto service = quoted(rows.text());
    places += fmt::format("{}(service = {} AND bucket = {})", places.empty() ? "" : " OR ", service,
                          rows.number<std::uint32_t>());
  }
  TRY(rows.done());
  if (places.empty()) return std::vector<StoredRequest>{};
  return requests_of(
      fmt::format("SELECT {}, {} FROM {} WHERE ({}) AND {} AND bitAnd(flags, 1) = 1 AND {} "
                  "ORDER BY service, begin, host",
                  kHead, kSpans, schema_.all("request"), places, is_trace, condition),
      true);
}

}  // namespace clrscope::store
