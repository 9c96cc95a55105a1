#include "analyze/request_recording.h"

#include <algorithm>

#include "analyze/durations.h"
#include "model/provider_names.h"

namespace clrscope::analyze {

void RequestRecording::on_batch(const nettrace::Reader&, const nettrace::Batch& batch) {
  for (const auto& event : batch.events) events_.on_event(event);
  flush();
}

void RequestRecording::end_of_trace(const nettrace::Reader& reader) {
  if (reader.info()) info_ = *reader.info();
  events_.end_of_trace();
}

void RequestRecording::add(RequestTrace request) {
  first_ = std::min(first_, request.begin);
  last_ = std::max(last_, request.end);
  batch_.requests.push_back(std::move(request));
}

void RequestRecording::flush() {
  if (batch_.requests.empty()) return;
  if (methods_ != events_.methods().size()) batch_.methods = events_.methods();
  methods_ = events_.methods().size();
  tally_.add(std::exchange(batch_, {}));
}

RequestProfile RequestRecording::profile() const {
  RequestProfile out;
  if (events_.summary()) {
    out = *events_.summary();
  } else if (tally_.ended() > 0) {
    // Cut short: what is there counts.
    out.duration = between(first_, last_);
    out.seen = tally_.ended();
    out.sampled = tally_.sampled();
    out.notes.emplace_back(
        "The recording was cut short: counters are those of the requests in it.");
  }
  out.lost.damaged += events_.damaged();
  out.routes = tally_.routes(out.duration);
  out.requests = tally_.requests([this](TraceTime time) { return info_.wall_of(time); });
  out.not_kept = tally_.not_kept();
  return out;
}

}  // namespace clrscope::analyze
