// Allocations of a trace by type and place, extrapolated from the runtime's samples of them.
//
// AllocationSampled (.NET 10 and later) picks bytes at random, one in 102,400 on average, so an
// object of s bytes stands for s / (1 - e^(-s/102400)) bytes. AllocationTick comes once for about
// every 100 KB that a heap hands out and names the object that was next: good shares, coarse sizes.
// When a trace has both, the first is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "model/intern.h"

namespace clrscope::analyze {

class AllocationCounts {
 public:
  struct Amount {
    std::uint64_t samples = 0;
    double bytes = 0;
    double objects = 0;

    void add(const Amount& more) {
      samples += more.samples;
      bytes += more.bytes;
      objects += more.objects;
    }
  };
  // What one of the two kinds of event said.
  struct Tally {
    Amount all;
    std::map<std::string, Amount> types;
    std::map<std::pair<FrameId, std::string>, Amount> sites;
  };

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  // An event of another trace of the same process, which may name methods. Before end_of_trace().
  void on_name(const Event& event, Provider provider) {
    if (trace_) trace_->sites.on_name(event, provider);
  }
  void end_of_trace(const nettrace::Reader& reader);

  bool has_sampled() const { return sampled_.all.samples > 0; }
  const Tally& best() const { return has_sampled() ? sampled_ : ticks_; }
  double rate() const { return span_.seconds() > 0 ? best().all.bytes / span_.seconds() : 0; }
  const TraceSpan& span() const { return span_; }
  const Frame& frame(FrameId id) const { return frames_.frame(id); }

 private:
  using ByStack = std::map<std::pair<StringId, StackId>, Amount>;
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    ByStack ticks;
    ByStack sampled;
  };

  void on_tick(const nettrace::Reader& reader, const Event& event);
  void on_sampled(const nettrace::Reader& reader, const Event& event);
  std::pair<StringId, StackId> key(const nettrace::Reader& reader, const Event& event, Bytes name);
  void settle(const ByStack& from, Tally& to);

  FrameTable frames_;
  StringTable names_;
  std::optional<Trace> trace_;
  Tally ticks_;
  Tally sampled_;
  TraceSpan span_;
};

}  // namespace clrscope::analyze
