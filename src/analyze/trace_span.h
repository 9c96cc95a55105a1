// How long traces lasted: from the beginning of the session, or of the seconds that a flight
// recorder kept, to the last event that is no rundown. Several traces: the sum.
#pragma once

#include "analyze/durations.h"
#include "base/clock.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

class TraceSpan {
 public:
  void on_event(TraceTime time) {
    if (time > last_) last_ = time;
    if (time < first_) first_ = time;
  }
  void end_of_trace(const nettrace::Reader& reader) {
    auto from = first_;
    if (const auto* info = reader.info())
      from = info->window_ns > 0 ? info->begin() : std::min(from, info->begin());
    if (last_ > from) grow(length_, between(from, last_));
    first_ = TraceTime::max();
    last_ = TraceTime::min();
  }
  std::chrono::nanoseconds length() const { return length_; }
  double seconds() const { return std::chrono::duration<double>(length_).count(); }

 private:
  TraceTime first_ = TraceTime::max();
  TraceTime last_ = TraceTime::min();
  std::chrono::nanoseconds length_{};
};

}  // namespace clrscope::analyze
