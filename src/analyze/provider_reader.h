// What the reports on calls and on tasks share: they follow the events of one provider and learn
// from all others how code is called.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "analyze/parts.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "nettrace/payload.h"

namespace clrscope::analyze {

// How often and how long, and how it ended.
struct OutcomeTimes : Times {
  std::uint64_t failed = 0;  // of them

  using Times::add;
  void add(const OutcomeTimes& more) {
    Times::add(more);
    failed += more.failed;
  }
};
const Shape& shape_of(const OutcomeTimes*);

// `Open` is what a report keeps of the trace being read.
template <class Open>
class ProviderReader {
 public:
  const Frame& frame(FrameId id) const { return frames_.frame(id); }
  const TraceSpan& span() const { return span_; }
  // An event of another trace of the same process, which may name methods. Before end_of_trace().
  void on_name(const Event& event, Provider provider) {
    if (trace_) trace_->sites.on_name(event, provider);
  }

 protected:
  struct Trace : Open {
    Trace(FrameTable& frames, std::uint32_t pointer_size) : sites(frames), plans(pointer_size) {}
    Providers providers;
    Sites sites;
    nettrace::PayloadPlans plans;
    TraceTime last = TraceTime::min();
  };

  explicit ProviderReader(std::string_view provider) : provider_(provider) {}
  ~ProviderReader() = default;

  template <class OnEvent>
  void read_batch(const nettrace::Reader& reader, const nettrace::Batch& batch,
                  OnEvent&& on_event) {
    if (!trace_) trace_.emplace(frames_, reader.info() ? reader.info()->pointer_size : 8);
    for (const Event& event : batch.events) {
      if (trace_->providers.of(*event.type) != Provider::kRundown) {
        span_.on_event(event.time);
        trace_->last = std::max(trace_->last, event.time);
      }
      if (event.type->provider == provider_)
        on_event(event);
      else
        trace_->sites.on_other(event);
    }
    trace_->sites.on_batch_end(batch);
  }

  FrameTable frames_;
  std::optional<Trace> trace_;  // the one being read
  TraceSpan span_;

 private:
  std::string_view provider_;
};

// The value of a field; empty, or 0, where there is none.
std::string text_field(const Event& event, const nettrace::PayloadPlan& plan,
                       std::string_view name);
std::int64_t number_field(const Event& event, const nettrace::PayloadPlan& plan,
                          std::string_view name);

}  // namespace clrscope::analyze
