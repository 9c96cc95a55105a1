// Requests of one service and ten seconds as three blobs of columns. No I/O.
//
//   head:    the requests, all columns of fixed width; for percentiles, filters and finding one
//   stacks:  per span its call path and its self time; all that a flame graph reads
//   rest:    per span and step everything else, as varints; for one request's waterfall
//
// Blobs are compressed by zstd (base/zstd_block.h). Reading checks every size: a file may be
// damaged. Layout: docs/formats/fleet.md
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/batch.h"

namespace clrscope::store {

inline constexpr std::int64_t kBucket = 10'000'000'000;  // nanoseconds of one chunk

// A request whose names and source are ids of the store.
using ChunkRequest = BatchRequest;

struct ChunkHead {
  std::vector<std::uint64_t> begin{};  // after the begin of the bucket
  std::vector<std::uint64_t> duration{}, running{}, waiting{}, queued{}, bytes_in{}, bytes_out{};
  std::vector<std::uint32_t> source{}, method{}, route{}, path{}, error{}, spans{}, steps{},
      spans_lost{};
  std::vector<std::uint16_t> status{};
  std::vector<std::uint8_t> flags{};
  std::vector<TraceId> trace_id{};

  std::size_t size() const { return begin.size(); }
};

struct ChunkStacks {
  std::vector<std::uint32_t> path{};
  std::vector<std::uint32_t> self_low{};
  std::vector<std::uint32_t> self_high{};  // empty: all zero

  std::uint64_t self(std::size_t at) const {
    return self_low[at] |
           (self_high.empty() ? 0 : static_cast<std::uint64_t>(self_high[at]) << 32U);
  }
};

struct ChunkBlobs {
  std::string head{}, stacks{}, rest{};
  std::uint32_t requests = 0, sampled = 0, errors = 0, spans = 0;
};

class ChunkBuilder {
 public:
  // `request` has ids of the store; its spans and steps are those of the batch from `span` and
  // `step` on, and `paths` are the ids of their call paths.
  void add(const ChunkRequest& request, std::uint32_t source, std::int64_t bucket,
           const BatchSpans& spans, std::size_t span, std::size_t step,
           std::span<const std::uint32_t> paths);
  const ChunkHead& head() const { return head_; }
  std::size_t spans() const { return stacks_.path.size(); }
  ChunkBlobs finish() const;

 private:
  ChunkHead head_;
  ChunkStacks stacks_;
  // parent, begin, duration, queued, thread, kind, steps; step begin, duration, thread
  std::vector<std::uint8_t> rest_[10];
};

Result<ChunkHead> read_head(Bytes blob);
Result<ChunkStacks> read_stacks(Bytes blob);

// The spans of one request.
struct ChunkSpan {
  std::uint32_t path = 0, parent = 0, thread = 0, kind = 0;
  std::uint64_t begin = 0, duration = 0, self = 0, queued = 0;
  struct Step {
    std::uint64_t begin = 0, duration = 0;
    std::uint32_t thread = 0;
  };
  std::vector<Step> steps{};
};
Result<std::vector<ChunkSpan>> read_spans(const ChunkHead& head, std::size_t request,
                                          const ChunkStacks& stacks, Bytes rest);

}  // namespace clrscope::store
