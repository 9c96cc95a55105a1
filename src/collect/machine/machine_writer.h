// Writes the recording of a machine: all of it, or its last seconds. Belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "collect/machine/segment_ring.h"
#include "collect/written_file.h"
#include "nettrace/trace_output.h"

namespace clrscope::collect {

class MachineWriter {
 public:
  explicit MachineWriter(RecordingFile file);

  Result<> write(Bytes blocks) { return ring_ ? ring_->add(blocks) : output_.write(blocks); }
  void on_stop();                             // recording ends: what follows are names
  void on_status() { (void)output_.tick(); }  // the next write fails too, and its error is reported
  std::uint64_t file_bytes() const { return output_.bytes(); }
  // The interval of sequence points that the ring needs; unset without a ring.
  std::optional<std::chrono::nanoseconds> cut_every() const;

  enum class Ending : std::uint8_t { kComplete, kWriteFailed };
  Result<WrittenFile> finish(Ending ending);

 private:
  RecordingFile file_;
  nettrace::TraceOutput output_;
  std::optional<SegmentRing> ring_;
  TraceTime stopped_ = TraceClock::now();
};

}  // namespace clrscope::collect
