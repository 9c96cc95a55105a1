// The thread pool of a trace: how many workers over time, why their number changed, how long work
// queued.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/only_counted.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"

namespace clrscope::analyze {

class PoolChanges {
 public:
  static constexpr std::uint32_t kStarvation = 6;  // "ThreadAdjustmentReason"
  static constexpr std::uint32_t kBlocking = 8;

  struct Count {
    std::chrono::nanoseconds time{};  // since the trace's beginning
    std::uint32_t workers = 0;
  };
  struct Adjustment {
    std::chrono::nanoseconds time{};
    std::uint32_t threads = 0;
    std::uint32_t reason = 0;
    double throughput = 0;  // work items a second
  };
  struct Queue {
    std::uint64_t enqueued = 0;
    std::uint64_t dequeued = 0;
    std::uint64_t matched = 0;
    std::chrono::nanoseconds waited{};
    std::chrono::nanoseconds longest{};
  };

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  const std::vector<Count>& counts() const { return counts_; }  // each change, by time
  const std::vector<Adjustment>& adjustments() const { return adjustments_; }
  const std::optional<nettrace::PoolMinMax>& limits() const { return limits_; }
  const Queue& queue() const { return queue_; }
  const TraceSpan& span() const { return span_; }
  std::uint64_t adjusted(std::uint32_t reason) const;
  std::uint32_t most_workers() const;
  // The number last told, by whichever event; nothing when none did.
  std::optional<std::uint32_t> last_workers() const;
  std::optional<std::uint32_t> first_workers() const;
  // Until then; nothing: to the end.
  std::optional<std::chrono::nanoseconds> recorded() const { return only_counted_.recorded(); }

 private:
  void on_event(const nettrace::TraceInfo& info, const Event& event, nettrace::Known known);
  void on_work(const Event& event, nettrace::Known known, std::uint64_t work);
  void add_count(Count count);

  KnownEvents known_;
  Providers providers_;
  std::vector<Count> counts_;
  std::vector<Adjustment> adjustments_;
  std::optional<nettrace::PoolMinMax> limits_;
  std::unordered_map<std::uint64_t, TraceTime> queued_;
  Queue queue_;
  TraceSpan span_;
  OnlyCounted only_counted_{"thread_pool"};
};

}  // namespace clrscope::analyze
