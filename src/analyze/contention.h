// Waits for locks in a trace: by the place that waited, with their owners.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyze/only_counted.h"
#include "analyze/parts.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"

namespace clrscope::analyze {

struct LockWaits : Times {
  std::map<std::uint64_t, std::uint64_t> owners{};  // thread that held the lock: how often

  using Times::add;
  void add(const LockWaits& more);
};

// The beginnings and ends of waits, brought together.
class LockWaitPairs {
 public:
  struct Wait {
    TraceTime begin{};
    StackId stack = StackId::kNone;
    std::uint64_t lock = 0;
    std::uint64_t owner = 0;
    std::chrono::nanoseconds time{};
  };
  void begin(const Event& event, const nettrace::ContentionStart& start, StackId stack);
  Wait end(const Event& event, const std::optional<nettrace::ContentionStop>& stop);
  // Those that had not ended, up to `now`: the ones that matter most. Forgotten after that.
  std::vector<Wait> take_open(TraceTime now);
  // The process reports no more waits, so nobody knows when these ended.
  void forget(ProcessId process);

 private:
  std::map<std::pair<ProcessId, ThreadId>, Wait> open_;
};

class Contention {
 public:
  using Site = std::pair<const FrameId, LockWaits>;

  explicit Contention(LineAt line_at = {}) : line_at_(std::move(line_at)) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  const LockWaits& all() const { return all_; }
  // More of them, without time and place.
  const OnlyCounted& only_counted() const { return only_counted_; }
  std::vector<const Site*> sites() const;  // most time waited first
  std::size_t locks() const { return locks_; }
  const Frame& frame(FrameId id) const { return frames_.frame(id); }
  const TraceSpan& span() const { return span_; }

 private:
  struct Trace {
    Trace(FrameTable& frames, const LineAt& line_at) : sites(frames, line_at) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    LockWaitPairs waits;
    std::map<StackId, LockWaits> by_stack;
    std::map<std::uint64_t, LockWaits> by_lock;
    TraceTime last = TraceTime::min();
  };
  void begin(const nettrace::Reader& reader, const Event& event);
  void end(const nettrace::Reader& reader, const Event& event);
  void add(const LockWaitPairs::Wait& wait, std::uint64_t unfinished);

  LineAt line_at_;
  FrameTable frames_;
  std::optional<Trace> trace_;
  std::map<FrameId, LockWaits> sites_;
  std::size_t locks_ = 0;
  LockWaits all_;
  OnlyCounted only_counted_{"lock_waits"};
  TraceSpan span_;
};

}  // namespace clrscope::analyze
