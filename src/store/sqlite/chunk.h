// Requests of one service and at most ten minutes as four blobs of columns. No I/O.
//
//   sums:    self times by route and call path (chunk_sums.h); what most flame graphs read
//   head:    the requests, all columns of fixed width; for percentiles, filters and finding one
//   stacks:  per span its call path and its self time; flame graphs of a percentile band
//   rest:    per span and step everything else, as varints; for one request's waterfall
//
// Blobs are compressed by zstd (base/zstd_block.h). Reading checks every size: a file may be
// damaged. Blobs of schema 1 are read too. Layout: docs/formats/fleet.md
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/batch.h"

namespace clrscope::store {

inline constexpr std::int64_t kBucket = 10'000'000'000;  // nanoseconds of one chunk as it arrives
inline constexpr std::int64_t kWindow = 60;              // buckets; no chunk reaches across windows

// A request whose names and source are ids of the store.
using ChunkRequest = BatchRequest;

struct ChunkHead {
  std::vector<std::uint64_t> begin{};  // after the begin of the chunk's first bucket
  std::vector<std::uint64_t> duration{}, running{}, waiting{}, queued{}, bytes_in{}, bytes_out{};
  std::vector<std::uint32_t> source{}, method{}, route{}, path{}, error{}, spans{}, steps{},
      spans_lost{};
  std::vector<std::uint16_t> status{};
  std::vector<std::uint8_t> flags{};
  std::vector<TraceId> trace_id{};

  std::size_t size() const { return begin.size(); }
  bool is_sampled(std::size_t at) const { return (flags[at] & kSampled) != 0; }
  bool is_error(std::size_t at) const { return status[at] >= 500 || error[at] != 0; }
  ChunkRequest request(std::size_t at, std::int64_t bucket) const;
};

// Of all spans, or of some that follow each other.
struct ChunkStacks {
  std::size_t first = 0;  // number of the first span
  std::vector<std::uint32_t> path{};
  std::vector<std::uint32_t> self_low{};
  std::vector<std::uint32_t> self_high{};  // empty: all zero

  bool holds(std::uint64_t span, std::uint64_t count) const {
    return span >= first && count <= path.size() && span - first <= path.size() - count;
  }
  std::uint64_t self(std::size_t at) const {
    return self_low[at] |
           (self_high.empty() ? 0 : static_cast<std::uint64_t>(self_high[at]) << 32U);
  }
};

struct ChunkBlobs {
  std::string sums{}, head{}, stacks{}, rest{};
  std::uint32_t requests = 0, sampled = 0, errors = 0, spans = 0;
};

// The columns of `rest`.
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
inline constexpr std::size_t kRestColumns = 10;

// What the begin of a span is written as a difference to. A chunk takes what makes it smallest.
enum class BeginRule : std::uint8_t {
  kParent,   // the begin of its parent
  kSibling,  // the end of its parent's call before; of the first, the begin of the parent
  kBefore,   // the begin of the span before and its self time
};
inline constexpr std::size_t kBeginRules = 3;

class ChunkBuilder {
 public:
  // `request` has ids of the store; its spans and steps are those of the batch from `span` and
  // `step` on, and `paths` are the ids of their call paths. `bucket`: the first of the chunk.
  void add(const ChunkRequest& request, std::uint32_t source, std::int64_t bucket,
           const BatchSpans& spans, std::size_t span, std::size_t step,
           std::span<const std::uint32_t> paths);
  const ChunkHead& head() const { return head_; }
  std::size_t spans() const { return stacks_.path.size(); }
  ChunkBlobs finish(int zstd_level) const;

 private:
  using Column = std::vector<std::uint8_t>;
  ChunkHead head_;
  ChunkStacks stacks_;
  std::array<Column, kRestColumns> rest_;   // kBegin is empty
  std::array<Column, kBeginRules> begins_;  // one of them is written
};

Result<ChunkHead> read_head(Bytes blob);
Result<ChunkStacks> read_stacks(Bytes blob);
// Those of at least `count` spans from `first` on; fewer than all cost less.
Result<ChunkStacks> read_stacks(Bytes blob, std::uint64_t first, std::uint64_t count);
// The spans of `count` requests from `first` on; their methods are ids of call paths.
Result<BatchSpans> read_spans(const ChunkHead& head, std::size_t first, std::size_t count,
                              const ChunkStacks& stacks, Bytes rest);

}  // namespace clrscope::store
