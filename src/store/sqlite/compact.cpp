// Merges small chunks of a service: those of each minute soon after it, those of ten minutes after
// these. Fewer and larger chunks take less room and sum up better.
#include <algorithm>
#include <tuple>

#include "base/log.h"
#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {
namespace {

constexpr std::chrono::seconds kSettle{30};  // most batches of a time have come after it
constexpr std::int64_t kMinute = 6;          // buckets
constexpr std::uint64_t kEnoughSpans = 100'000;
constexpr std::uint64_t kEnoughRequests = 20'000;
constexpr int kMergedZstdLevel = 3;

static_assert(kWindow % kMinute == 0);

}  // namespace

// Which chunks make a new one, in order of time. Chunks that are large enough stay as they are.
Result<std::vector<SqliteStore::Merge>> SqliteStore::find_merges(Database& database,
                                                                 std::int64_t settled) {
  auto rows = TRY(
      database.prepare("SELECT service, t, seq, last, requests, spans FROM chunk INDEXED BY "
                       "chunk_by_time WHERE t < ?1 AND last < ?1 AND requests < ?2 AND spans < ?3 "
                       "ORDER BY service, t, seq"));
  rows.bind(settled, kEnoughRequests / 2, kEnoughSpans / 2);
  struct Open {
    Merge merge{};
    std::uint64_t requests = 0, spans = 0;
  };
  std::vector<Merge> found;
  const auto close = [&](Open& open) {
    if (open.merge.chunks.size() > 1) found.push_back(std::move(open.merge));
    open = {};
  };
  Open open;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> place{};  // service, width, begin
  while (TRY(rows.step())) {
    const auto service = rows.integer(0), t = rows.integer(1);
    const auto width = t / kWindow * kWindow + kWindow <= settled ? kWindow : kMinute;
    const auto begin = t / width * width;
    if (begin + width > settled) continue;
    if (place != std::tuple{service, width, begin} || open.requests >= kEnoughRequests ||
        open.spans >= kEnoughSpans)
      close(open);
    place = {service, width, begin};
    open.merge.service = service;
    open.merge.chunks.push_back({t, rows.integer(2), rows.integer(3)});
    open.requests += rows.count(4);
    open.spans += rows.count(5);
  }
  close(open);
  return found;
}

namespace {

struct Contents {
  std::int64_t t = 0;
  ChunkHead head{};
  ChunkStacks stacks{};
  BatchSpans spans{};
  ChunkStacks cpu_stacks{};
  BatchSamples samples{};
};

Result<Contents> read_contents(Statement& row, std::int64_t t) {
  Contents chunk{.t = t, .head = TRY(read_head(row.blob(0)))};
  chunk.stacks = TRY(read_stacks(row.blob(1)));
  chunk.spans = TRY(read_spans(chunk.head, 0, chunk.head.size(), chunk.stacks, row.blob(2)));
  if (row.blob(3).empty()) return chunk;
  chunk.cpu_stacks = TRY(read_stacks(row.blob(3)));
  chunk.samples =
      TRY(read_samples(chunk.head, 0, chunk.head.size(), chunk.cpu_stacks, row.blob(4)));
  return chunk;
}

// By duration: the spans of a percentile band then lie together.
ChunkBuilder join(const std::vector<Contents>& chunks, std::int64_t bucket) {
  struct Place {
    std::uint64_t duration;
    const Contents* chunk;
    std::size_t request, span, step, sample;
  };
  std::vector<Place> places;
  for (const auto& chunk : chunks) {
    std::size_t span = 0, step = 0, sample = 0;
    for (std::size_t at = 0; at < chunk.head.size(); ++at) {
      places.push_back({chunk.head.duration[at], &chunk, at, span, step, sample});
      span += chunk.head.spans[at];
      step += chunk.head.steps[at];
      sample += chunk.head.samples[at];
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.duration < b.duration; });
  ChunkBuilder builder;
  for (const auto& [duration, chunk, at, span, step, sample] : places) {
    const auto request = chunk->head.request(at, chunk->t);
    builder.add(
        {.request = request,
         .source = chunk->head.source[at],
         .spans = chunk->spans,
         .span = span,
         .step = step,
         .paths = std::span{chunk->stacks.path}.subspan(span, request.spans),
         .samples = chunk->samples,
         .sample = sample,
         .sample_paths = std::span{chunk->cpu_stacks.path}.subspan(sample, request.samples)},
        bucket);
  }
  return builder;
}

}  // namespace

Result<> SqliteStore::merge(Merge merge) {
  std::vector<Contents> contents;
  const auto bucket = merge.chunks.front().t;
  const auto done = reading([&](Database& database) -> Result<> {
    auto row =
        TRY(database.prepare("SELECT head, stacks, rest, cpu_stacks, cpu_rest FROM chunk WHERE "
                             "service = ? AND t = ? AND seq = ?"));
    std::vector<Merge::Chunk> whole;
    for (const auto& chunk : merge.chunks) {
      row.bind(merge.service, chunk.t, chunk.seq);
      if (!TRY(row.step())) continue;
      auto read = read_contents(row, chunk.t);
      if (!read) {
        log(LogLevel::kDebug, "chunk {} of {} stays as it is: {}", chunk.seq, chunk.t,
            read.error().what);
        continue;
      }
      contents.push_back(std::move(*read));
      whole.push_back(chunk);
    }
    merge.chunks = std::move(whole);
    return {};
  });
  if (!done) return fail(done.error());
  if (merge.chunks.size() < 2) return {};
  auto last = bucket;
  for (const auto& chunk : merge.chunks) last = std::max(last, chunk.last);

  const auto blobs = join(contents, bucket).finish(kMergedZstdLevel);
  const std::lock_guard lock{writing_};
  auto transaction = TRY(Transaction::begin(*writer_));
  TRY(write_chunk(static_cast<std::uint32_t>(merge.service), bucket, last, blobs));
  auto drop = TRY(writer_->prepare("DELETE FROM chunk WHERE service = ? AND t = ? AND seq = ?"));
  for (const auto& chunk : merge.chunks) TRY(drop.bind(merge.service, chunk.t, chunk.seq).run());
  return transaction.commit();
}

Result<> SqliteStore::compact(WallTime now) {
  const std::lock_guard lock{maintaining_};
  const auto settled = (now - kSettle).time_since_epoch().count() / kBucket;
  const auto merges =
      TRY(reading([&](Database& database) { return find_merges(database, settled); }));
  for (const auto& one : merges) TRY(merge(one));
  return {};
}

}  // namespace clrscope::store
