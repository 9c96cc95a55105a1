// Writes the recording of one runtime: its bytes as they are, or a new trace made from them (the
// last seconds only, or filtered). Belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "collect/eventpipe/early_names.h"
#include "collect/eventpipe/event_filter.h"
#include "collect/eventpipe/flight_ring.h"
#include "collect/eventpipe/stream_recorder.h"
#include "collect/written_file.h"
#include "nettrace/convert.h"
#include "nettrace/trace_output.h"

namespace clrscope::collect {

class RecordingWriter {
 public:
  RecordingWriter(RecordingFile file, EventFilter filter);
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  Result<> write(Bytes blocks);
  void on_stop();    // recording ends: what follows are names
  void on_status();  // from time to time
  std::uint64_t file_bytes() const { return output_.bytes(); }
  // The number of events that the filter kept; unset without a filter.
  std::optional<std::uint64_t> kept_events() const;

  // `early`: method names for a target that died before it sent them; may be null.
  Result<WrittenFile> finish(const StreamOutcome& outcome, EarlyNames* early);

 private:
  Result<> end_output(const StreamOutcome& outcome);

  RecordingFile file_;
  nettrace::TraceOutput output_;
  EventFilter filter_;
  std::optional<nettrace::Converter> converter_;
  std::optional<FlightRing> ring_;
  std::optional<TraceTime> stopped_;
};

}  // namespace clrscope::collect
