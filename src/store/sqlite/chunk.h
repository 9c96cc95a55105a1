// Requests of one service and at most ten minutes as blobs of columns. No I/O.
//
//   sums:    self times by route and call path (chunk_sums.h); what most flame graphs read
//   head:    the requests, all columns of fixed width; for percentiles, filters and finding one
//   stacks:  per span its call path and its self time; flame graphs of a percentile band
//   rest:    per span and step everything else, as varints; for one request's waterfall
//   cpu_sums, cpu_stacks, cpu_rest: the same of CPU samples; empty where there are none
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
      spans_lost{}, samples{};
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
  std::string sums{}, head{}, stacks{}, rest{}, cpu_sums{}, cpu_stacks{}, cpu_rest{};
  std::uint32_t requests = 0, sampled = 0, errors = 0, spans = 0, samples = 0;
};

// A request of a batch or of another chunk. Its names are ids of the store; its spans, steps and
// samples are those from `span`, `step` and `sample` on. `paths` and `sample_paths`: ids of their
// call paths.
struct ChunkEntry {
  const ChunkRequest& request;
  std::uint32_t source = 0;
  const BatchSpans& spans;
  std::size_t span = 0, step = 0;
  std::span<const std::uint32_t> paths{};
  const BatchSamples& samples;
  std::size_t sample = 0;
  std::span<const std::uint32_t> sample_paths{};
};

// The columns of `rest`.
enum RestColumn : std::uint8_t {
  kParent,
  kSpanBegin,
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

// The columns of `cpu_rest`.
enum CpuColumn : std::uint8_t { kCpuTime, kCpuSpan, kCpuThread };
inline constexpr std::size_t kCpuColumns = 3;

// What the begin of a span is written as a difference to. A chunk takes what makes it smallest.
enum class BeginRule : std::uint8_t {
  kParent,   // the begin of its parent
  kSibling,  // the end of its parent's call before; of the first, the begin of the parent
  kBefore,   // the begin of the span before and its self time
};
inline constexpr std::size_t kBeginRules = 3;

class ChunkBuilder {
 public:
  // `bucket`: the first of the chunk.
  void add(const ChunkEntry& entry, std::int64_t bucket);
  const ChunkHead& head() const { return head_; }
  std::size_t spans() const { return stacks_.path.size(); }
  ChunkBlobs finish(int zstd_level) const;

 private:
  using Column = std::vector<std::uint8_t>;
  void add_spans(const ChunkEntry& entry);
  void add_steps(const ChunkEntry& entry);
  void add_samples(const ChunkEntry& entry);
  ChunkHead head_;
  ChunkStacks stacks_, cpu_stacks_;
  std::array<Column, kCpuColumns> cpu_rest_;
  std::array<Column, kRestColumns> rest_;   // kSpanBegin is empty
  std::array<Column, kBeginRules> begins_;  // one of them is written
};

Result<ChunkHead> read_head(Bytes blob);
Result<ChunkStacks> read_stacks(Bytes blob);
// Those of at least `count` spans from `first` on; fewer than all cost less.
Result<ChunkStacks> read_stacks(Bytes blob, std::uint64_t first, std::uint64_t count);
// The spans of `count` requests from `first` on; their methods are ids of call paths.
Result<BatchSpans> read_spans(const ChunkHead& head, std::size_t first, std::size_t count,
                              const ChunkStacks& stacks, Bytes rest);
// The CPU samples of these requests; their stacks are ids of call paths.
Result<BatchSamples> read_samples(const ChunkHead& head, std::size_t first, std::size_t count,
                                  const ChunkStacks& stacks, Bytes rest);

}  // namespace clrscope::store
