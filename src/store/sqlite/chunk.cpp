#include "store/sqlite/chunk.h"

#include <algorithm>

#include "store/sqlite/begin_forecast.h"
#include "store/sqlite/chunk_blob.h"
#include "store/sqlite/chunk_stacks.h"
#include "store/sqlite/chunk_sums.h"
#include "store/sqlite/columns.h"
#include "store/sqlite/step_forecast.h"

namespace clrscope::store {
namespace {

void put_varint(std::vector<std::uint8_t>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<std::uint8_t>(value | 0x80U));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_column(ByteWriter& out, const std::vector<std::uint8_t>& column) {
  out.write_varuint(column.size());
  out.put(Bytes{column});
}

// Calls `visit` with every column in the order of the blob.
template <class Head, class Visit>
void columns_of(Head& head, const Visit& visit) {
  visit(head.begin), visit(head.duration), visit(head.running), visit(head.waiting);
  visit(head.queued), visit(head.bytes_in), visit(head.bytes_out);
  visit(head.source), visit(head.method), visit(head.route), visit(head.path), visit(head.error);
  visit(head.spans), visit(head.steps), visit(head.spans_lost);
  visit(head.status), visit(head.flags), visit(head.trace_id);
}

// Unless threads worked for it in parallel.
std::uint64_t usual_waiting(const ChunkHead& head, std::size_t at) {
  return head.duration[at] - head.running[at];
}

// How long the calls of each span took, all together.
std::vector<std::uint64_t> call_times(std::span<const std::uint32_t> parents,
                                      std::span<const std::uint64_t> durations) {
  std::vector<std::uint64_t> times(parents.size() + 1);
  for (std::size_t i = 0; i < parents.size(); ++i) times[parents[i]] += durations[i];
  return times;
}

}  // namespace

ChunkRequest ChunkHead::request(std::size_t at, std::int64_t bucket) const {
  return {.trace_id = trace_id[at],
          .begin = bucket * kBucket + static_cast<std::int64_t>(begin[at]),
          .duration = duration[at],
          .running = running[at],
          .waiting = waiting[at],
          .queued = queued[at],
          .bytes_in = bytes_in[at],
          .bytes_out = bytes_out[at],
          .method = method[at],
          .route = route[at],
          .path = path[at],
          .error = error[at],
          .spans_lost = spans_lost[at],
          .spans = spans[at],
          .steps = steps[at],
          .samples = samples[at],
          .status = status[at],
          .flags = flags[at]};
}

void ChunkBuilder::add(const ChunkEntry& entry, std::int64_t bucket) {
  const auto& request = entry.request;
  head_.begin.push_back(static_cast<std::uint64_t>(request.begin - bucket * kBucket));
  head_.duration.push_back(request.duration);
  head_.running.push_back(request.running);
  head_.waiting.push_back(request.waiting);
  head_.queued.push_back(request.queued);
  head_.bytes_in.push_back(request.bytes_in);
  head_.bytes_out.push_back(request.bytes_out);
  head_.source.push_back(entry.source);
  head_.method.push_back(request.method);
  head_.route.push_back(request.route);
  head_.path.push_back(request.path);
  head_.error.push_back(request.error);
  head_.spans.push_back(request.spans);
  head_.steps.push_back(request.steps);
  head_.spans_lost.push_back(request.spans_lost);
  head_.samples.push_back(request.samples);
  head_.status.push_back(request.status);
  head_.flags.push_back(request.flags);
  head_.trace_id.push_back(request.trace_id);
  add_spans(entry);
  add_samples(entry);
}

void ChunkBuilder::add_samples(const ChunkEntry& entry) {
  const auto& samples = entry.samples;
  std::uint64_t time_before = 0;
  std::uint32_t thread_before = 0;
  for (std::uint32_t i = 0; i < entry.request.samples; ++i) {
    const auto at = entry.sample + i;
    cpu_stacks_.path.push_back(entry.sample_paths[i]);
    cpu_stacks_.self_low.push_back(static_cast<std::uint32_t>(samples.weight[at]));
    cpu_stacks_.self_high.push_back(static_cast<std::uint32_t>(samples.weight[at] >> 32U));
    put_varint(cpu_rest_[kCpuTime], difference(samples.time[at], time_before));
    put_varint(cpu_rest_[kCpuSpan], samples.span[at]);
    put_varint(cpu_rest_[kCpuThread], difference(samples.thread[at], thread_before));
    time_before = samples.time[at];
    thread_before = samples.thread[at];
  }
}

void ChunkBuilder::add_spans(const ChunkEntry& entry) {
  const auto& spans = entry.spans;
  const auto span = entry.span;
  const auto count = entry.request.spans;
  const auto in_calls = call_times(std::span{spans.parent}.subspan(span, count),
                                   std::span{spans.duration}.subspan(span, count));
  std::array<BeginForecast, kBeginRules> forecasts{BeginForecast{BeginRule::kParent, count},
                                                   BeginForecast{BeginRule::kSibling, count},
                                                   BeginForecast{BeginRule::kBefore, count}};
  std::uint32_t thread_before = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = span + i;
    const auto self = spans.self[at], begin = spans.begin[at], duration = spans.duration[at];
    const auto parent = spans.parent[at];
    stacks_.path.push_back(entry.paths[i]);
    stacks_.self_low.push_back(static_cast<std::uint32_t>(self));
    stacks_.self_high.push_back(static_cast<std::uint32_t>(self >> 32U));
    put_varint(rest_[kParent], parent == 0 ? 0 : i + 1 - parent);
    for (std::size_t rule = 0; rule < kBeginRules; ++rule) {
      put_varint(begins_[rule], difference(begin, forecasts[rule].next(parent)));
      forecasts[rule].note(i, parent, begin, duration, self);
    }
    put_varint(rest_[kDuration], difference(duration, self + in_calls[i + 1]));
    put_varint(rest_[kQueued], spans.queued[at]);
    put_varint(rest_[kThread], difference(spans.thread[at], thread_before));
    thread_before = spans.thread[at];
    put_varint(rest_[kKind], spans.kind[at]);
    put_varint(rest_[kSteps], spans.steps[at]);
  }
  if (entry.request.steps > 0) add_steps(entry);
}

void ChunkBuilder::add_steps(const ChunkEntry& entry) {
  const auto& spans = entry.spans;
  StepForecast forecast{spans, entry.span, entry.request.spans, entry.step};
  auto step = entry.step;
  for (std::uint32_t i = 0; i < entry.request.spans; ++i) {
    if (spans.steps[entry.span + i] == 0) continue;
    forecast.open(i);
    for (std::uint32_t k = 0; k < spans.steps[entry.span + i]; ++k, ++step) {
      put_varint(rest_[kStepBegin], difference(spans.step_begin[step], forecast.begin(k)));
      put_varint(rest_[kStepDuration], difference(spans.step_duration[step], forecast.duration(k)));
      put_varint(rest_[kStepThread],
                 difference(spans.step_thread[step], spans.thread[entry.span + i]));
    }
  }
}

ChunkBlobs ChunkBuilder::finish(int zstd_level) const {
  ChunkBlobs blobs{.sums = make_sums(head_, head_.spans, stacks_, zstd_level),
                   .requests = static_cast<std::uint32_t>(head_.size()),
                   .spans = static_cast<std::uint32_t>(stacks_.path.size()),
                   .samples = static_cast<std::uint32_t>(cpu_stacks_.path.size())};
  for (std::size_t at = 0; at < head_.size(); ++at) {
    blobs.sampled += head_.is_sampled(at) ? 1 : 0;
    blobs.errors += head_.is_error(at) ? 1 : 0;
  }
  ByteWriter head;
  head.write(blobs.requests);
  columns_of(head_, [&](const auto& column) {
    if (&column != static_cast<const void*>(&head_.waiting)) return put_planes(head, column);
    std::vector<std::uint64_t> differences(head_.size());
    for (std::size_t at = 0; at < head_.size(); ++at)
      differences[at] = difference(head_.waiting[at], usual_waiting(head_, at));
    put_planes(head, differences);
  });
  put_planes(head, head_.samples);
  blobs.head = pack_blob(head.bytes(), zstd_level, BlobLayout::kSampled);

  blobs.stacks = pack_stacks(stacks_, zstd_level);

  const auto smallest =
      std::min_element(begins_.begin(), begins_.end(),
                       [](const Column& a, const Column& b) { return a.size() < b.size(); });
  ByteWriter rest;
  rest.write(static_cast<std::uint8_t>(smallest - begins_.begin()));
  for (std::size_t i = 0; i < kRestColumns; ++i)
    put_column(rest, i == kSpanBegin ? *smallest : rest_[i]);
  blobs.rest = pack_blob(rest.bytes(), zstd_level, BlobLayout::kForetold);
  if (blobs.samples == 0) return blobs;
  blobs.cpu_sums = make_sums(head_, head_.samples, cpu_stacks_, zstd_level);
  blobs.cpu_stacks = pack_stacks(cpu_stacks_, zstd_level);
  ByteWriter cpu_rest;
  for (const auto& column : cpu_rest_) put_column(cpu_rest, column);
  blobs.cpu_rest = pack_blob(cpu_rest.bytes(), zstd_level);
  return blobs;
}

Result<ChunkHead> read_head(Bytes blob) {
  const auto [layout, plain] = TRY(unpack_blob(blob));
  ByteReader in{as_bytes(plain)};
  const auto count = in.read<std::uint32_t>();
  ChunkHead head;
  columns_of(head, [&, how = layout](auto& column) { take_column(how, in, count, column); });
  if (layout == BlobLayout::kSampled) {
    take_column(layout, in, count, head.samples);
    for (std::size_t at = 0; in.ok() && at < head.size(); ++at)
      head.waiting[at] = usual_waiting(head, at) + read_zigzag(head.waiting[at]);
  } else {
    head.samples.resize(head.size());
  }
  if (!in.ok() || !in.at_end())
    return fail(Errc::kCorrupt, "a chunk of {} requests is damaged", count);
  return head;
}

}  // namespace clrscope::store
