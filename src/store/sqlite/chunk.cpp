#include "store/sqlite/chunk.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/zstd_block.h"

namespace clrscope::store {
namespace {

constexpr int kZstdLevel = 1;
constexpr std::uint64_t kLargestBlob = 1 << 30;

enum RestColumn : std::uint8_t {
  kParent,
  kBegin,
  kDuration,
  kQueued,
  kThread,
  kKind,
  kSteps,
  kStepBegin,
  kStepDuration,
  kStepThread,
};

std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}
std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return zigzag(static_cast<std::int64_t>(a - b));
}

void put_varint(std::vector<std::uint8_t>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<std::uint8_t>(value | 0x80U));
  out.push_back(static_cast<std::uint8_t>(value));
}

template <class T>
void put_column(ByteWriter& out, const std::vector<T>& column) {
  out.put(Bytes{reinterpret_cast<const std::uint8_t*>(column.data()), column.size() * sizeof(T)});
}

template <class T>
void take_column(ByteReader& in, std::size_t count, std::vector<T>& column) {
  const auto bytes = in.take(count * sizeof(T));
  if (!in.ok() || bytes.empty()) return;
  column.resize(count);
  std::memcpy(column.data(), bytes.data(), bytes.size());
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

bool is_error(const ChunkHead& head, std::size_t at) {
  return head.status[at] >= 500 || head.error[at] != 0;
}

}  // namespace

void ChunkBuilder::add(const ChunkRequest& request, std::uint32_t source, std::int64_t bucket,
                       const BatchSpans& spans, std::size_t span, std::size_t step,
                       std::span<const std::uint32_t> paths) {
  head_.begin.push_back(static_cast<std::uint64_t>(request.begin - bucket * kBucket));
  head_.duration.push_back(request.duration);
  head_.running.push_back(request.running);
  head_.waiting.push_back(request.waiting);
  head_.queued.push_back(request.queued);
  head_.bytes_in.push_back(request.bytes_in);
  head_.bytes_out.push_back(request.bytes_out);
  head_.source.push_back(source);
  head_.method.push_back(request.method);
  head_.route.push_back(request.route);
  head_.path.push_back(request.path);
  head_.error.push_back(request.error);
  head_.spans.push_back(request.spans);
  head_.steps.push_back(request.steps);
  head_.spans_lost.push_back(request.spans_lost);
  head_.status.push_back(request.status);
  head_.flags.push_back(request.flags);
  head_.trace_id.push_back(request.trace_id);

  std::uint32_t thread_before = 0;
  for (std::uint32_t i = 0; i < request.spans; ++i) {
    const auto at = span + i;
    const auto self = spans.self[at];
    stacks_.path.push_back(paths[i]);
    stacks_.self_low.push_back(static_cast<std::uint32_t>(self));
    stacks_.self_high.push_back(static_cast<std::uint32_t>(self >> 32U));
    const auto parent = spans.parent[at];
    const auto parent_begin = parent == 0 ? 0 : spans.begin[span + parent - 1];
    put_varint(rest_[kParent], parent == 0 ? 0 : i + 1 - parent);
    put_varint(rest_[kBegin], difference(spans.begin[at], parent_begin));
    put_varint(rest_[kDuration], difference(spans.duration[at], self));
    put_varint(rest_[kQueued], spans.queued[at]);
    put_varint(rest_[kThread], difference(spans.thread[at], thread_before));
    thread_before = spans.thread[at];
    put_varint(rest_[kKind], spans.kind[at]);
    put_varint(rest_[kSteps], spans.steps[at]);
    auto begin_before = spans.begin[at];
    for (std::uint32_t k = 0; k < spans.steps[at]; ++k, ++step) {
      put_varint(rest_[kStepBegin], difference(spans.step_begin[step], begin_before));
      begin_before = spans.step_begin[step];
      put_varint(rest_[kStepDuration], spans.step_duration[step]);
      put_varint(rest_[kStepThread], difference(spans.step_thread[step], spans.thread[at]));
    }
  }
}

ChunkBlobs ChunkBuilder::finish() const {
  ChunkBlobs blobs{.requests = static_cast<std::uint32_t>(head_.size()),
                   .spans = static_cast<std::uint32_t>(stacks_.path.size())};
  for (std::size_t at = 0; at < head_.size(); ++at) {
    blobs.sampled += (head_.flags[at] & kSampled) != 0 ? 1 : 0;
    blobs.errors += is_error(head_, at) ? 1 : 0;
  }
  ByteWriter head;
  head.write(blobs.requests);
  columns_of(head_, [&](const auto& column) { put_column(head, column); });
  blobs.head = zstd_block(head.bytes(), kZstdLevel);

  const bool high = std::any_of(stacks_.self_high.begin(), stacks_.self_high.end(),
                                [](std::uint32_t value) { return value != 0; });
  ByteWriter stacks;
  stacks.write(blobs.spans);
  stacks.write(std::uint32_t{high ? 1U : 0U});
  put_column(stacks, stacks_.path);
  put_column(stacks, stacks_.self_low);
  if (high) put_column(stacks, stacks_.self_high);
  blobs.stacks = zstd_block(stacks.bytes(), kZstdLevel);

  ByteWriter rest;
  for (const auto& column : rest_) {
    rest.write_varuint(column.size());
    rest.put(Bytes{column});
  }
  blobs.rest = zstd_block(rest.bytes(), kZstdLevel);
  return blobs;
}

Result<ChunkHead> read_head(Bytes blob) {
  const auto plain = TRY(read_zstd_block(blob, kLargestBlob));
  ByteReader in{as_bytes(plain)};
  const auto count = in.read<std::uint32_t>();
  ChunkHead head;
  columns_of(head, [&](auto& column) { take_column(in, count, column); });
  if (!in.ok() || !in.at_end())
    return fail(Errc::kCorrupt, "a chunk of {} requests is damaged", count);
  return head;
}

Result<ChunkStacks> read_stacks(Bytes blob) {
  const auto plain = TRY(read_zstd_block(blob, kLargestBlob));
  ByteReader in{as_bytes(plain)};
  const auto count = in.read<std::uint32_t>();
  const auto high = in.read<std::uint32_t>();
  ChunkStacks stacks;
  take_column(in, count, stacks.path);
  take_column(in, count, stacks.self_low);
  if (high != 0) take_column(in, count, stacks.self_high);
  if (!in.ok() || !in.at_end())
    return fail(Errc::kCorrupt, "a chunk of {} spans is damaged", count);
  return stacks;
}

Result<std::vector<ChunkSpan>> read_spans(const ChunkHead& head, std::size_t request,
                                          const ChunkStacks& stacks, Bytes rest) {
  const auto plain = TRY(read_zstd_block(rest, kLargestBlob));
  ByteReader all{as_bytes(plain)};
  std::array<ByteReader, 10> columns{ByteReader{{}}, ByteReader{{}}, ByteReader{{}}, ByteReader{{}},
                                     ByteReader{{}}, ByteReader{{}}, ByteReader{{}}, ByteReader{{}},
                                     ByteReader{{}}, ByteReader{{}}};
  for (auto& column : columns) column = ByteReader{all.take(all.read_varuint())};
  std::uint64_t first = 0;
  for (std::size_t at = 0; at < request; ++at) first += head.spans[at];
  const auto damaged = [] { return fail(Errc::kCorrupt, "the spans of a chunk are damaged"); };
  if (!all.ok() || first + head.spans[request] > stacks.path.size()) return damaged();
  for (std::uint64_t at = 0; at < first; ++at) {
    for (auto column : {kParent, kBegin, kDuration, kQueued, kThread, kKind})
      (void)columns[column].read_varuint();
    auto steps = columns[kSteps].read_varuint();
    for (; steps > 0 && columns[kStepBegin].ok(); --steps)
      for (auto column : {kStepBegin, kStepDuration, kStepThread})
        (void)columns[column].read_varuint();
  }
  std::vector<ChunkSpan> spans;
  std::uint32_t thread_before = 0;
  for (std::uint32_t i = 0; i < head.spans[request]; ++i) {
    ChunkSpan span{.path = stacks.path[first + i], .self = stacks.self(first + i)};
    const auto back = columns[kParent].read_varuint();
    if (back > i) return damaged();
    span.parent = back == 0 ? 0 : static_cast<std::uint32_t>(i + 1 - back);
    const auto signed_next = [&](RestColumn column) {
      return static_cast<std::uint64_t>(unzigzag(columns[column].read_varuint()));
    };
    span.begin = (span.parent == 0 ? 0 : spans[span.parent - 1].begin) + signed_next(kBegin);
    span.duration = span.self + signed_next(kDuration);
    span.queued = columns[kQueued].read_varuint();
    span.thread = thread_before + static_cast<std::uint32_t>(signed_next(kThread));
    thread_before = span.thread;
    span.kind = static_cast<std::uint32_t>(columns[kKind].read_varuint());
    auto begin_before = span.begin;
    for (auto steps = columns[kSteps].read_varuint(); steps > 0 && columns[kStepThread].ok();
         --steps) {
      ChunkSpan::Step step{.begin = begin_before + signed_next(kStepBegin)};
      begin_before = step.begin;
      step.duration = columns[kStepDuration].read_varuint();
      step.thread = span.thread + static_cast<std::uint32_t>(signed_next(kStepThread));
      span.steps.push_back(step);
    }
    spans.push_back(std::move(span));
  }
  for (const auto& column : columns)
    if (!column.ok()) return damaged();
  return spans;
}

}  // namespace clrscope::store
