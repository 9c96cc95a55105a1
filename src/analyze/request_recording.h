// Profiled requests of recorded traces: events in, one profile out.
#pragma once

#include <string>

#include "analyze/request_events.h"
#include "analyze/request_tally.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

class RequestRecording {
 public:
  // `wanted`: the beginning of a trace id; requests that have it are kept in any case.
  explicit RequestRecording(std::string wanted = {}) : tally_(std::move(wanted)) {}
  RequestRecording(const RequestRecording&) = delete;
  RequestRecording& operator=(const RequestRecording&) = delete;

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  RequestProfile profile() const;

 private:
  RequestEventReader events_{[this](RequestTrace request) { add(std::move(request)); }};
  void add(RequestTrace request);
  void flush();

  RequestTally tally_;
  RequestBatch batch_;
  std::size_t methods_ = 0;  // that the tally has
  nettrace::TraceInfo info_;
  TraceTime first_ = TraceTime::max();
  TraceTime last_ = TraceTime::min();
};

}  // namespace clrscope::analyze
