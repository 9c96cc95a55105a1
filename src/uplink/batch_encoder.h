// Turns requests into the batches that hosts send: clrscope.fleet.v1.RequestBatch, serialized.
//
// Written by hand for the one message that clrscope writes, so that it needs no protobuf library.
// Batches carry what this encoder has written so far, so that the server can tell what was lost on
// the way. One encoder belongs to one thread and one process. Definition: proto/clrscope/fleet/v1
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "model/request.h"

namespace clrscope::uplink {

struct Source {
  std::string host{};
  std::string service{};
  std::string version{};
  std::string instance{};  // 8 to 16 bytes; see new_instance()
  std::uint32_t pid = 0;
  std::string runtime{};
  std::string relay_version{};
};

// 16 random bytes.
std::string new_instance();

// How the requests were recorded, since the previous call.
struct Recording {
  std::uint64_t seen = 0;
  std::uint64_t sampled = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t lost_spans = 0;
  std::chrono::nanoseconds cpu{};
  std::uint64_t lost_samples = 0;

  Recording& operator+=(const Recording& more);
  friend Recording operator-(Recording a, const Recording& b);
};

// Wall time of the model's clock: wall - trace, measured once in a while.
struct ClockOffset {
  std::chrono::nanoseconds offset{};
  static ClockOffset now();
  WallTime wall(TraceTime time) const { return WallTime{time.time_since_epoch() + offset}; }
};

class BatchEncoder {
 public:
  explicit BatchEncoder(Source source) : source_(std::move(source)) {}

  // One or more batches, none of them larger than about a megabyte unless a single request is. At
  // least one, also when there are no requests: it carries the recording.
  std::vector<std::string> encode(const RequestBatch& batch, const ClockOffset& clock,
                                  const Recording& recording, WallTime created);

  std::uint64_t written_requests() const { return requests_; }
  std::uint64_t written_spans() const { return spans_; }
  std::uint64_t written_samples() const { return samples_; }

 private:
  const Source source_;
  std::uint64_t requests_ = 0;
  std::uint64_t spans_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace clrscope::uplink
