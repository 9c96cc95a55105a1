// Turns a trace of any version into one of version 6, event by event, with its losses.
//
// Bytes in, bytes out, no I/O. Payloads, stacks, threads, activities and ticks stay as they are.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "nettrace/reader.h"
#include "nettrace/writer.h"

namespace clrscope::nettrace {

class Converter {
 public:
  // keep: only these events go into the output; what it leaves out does not count as lost.
  explicit Converter(WriteBytes write, std::function<bool(const Event&)> keep = {});
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // The events of another trace of the same clock go into the output too. kAtEnd: as if they had
  // happened there, where readers look for a rundown. `trace` must live until finish().
  enum class Place { kInTime, kAtEnd };
  void include(Bytes trace, Place place) { included_.emplace_back(trace, place); }

  // Blocks from the beginning of a V6 trace were left out on purpose: what a capture thread had
  // reached before is not lost.
  void begin_is_missing() { cut_begin_ = true; }

  // What is earlier is only there to name things: TraceInfo::window_ns.
  void begin_window(TraceTime begin) { window_ = begin; }

  Result<> feed(Bytes chunk);
  Result<> flush();  // writes what is held, so that a reader of the output so far sees it
  Result<> finish();

  const Reader& reader() const { return reader_; }
  const Writer* writer() const { return writer_ ? &*writer_ : nullptr; }  // null before the header

 private:
  void on_batch(const Batch& batch);
  Result<> write_included(Place place);
  void checkpoint_all();
  void name_threads();
  bool ensure_writer();  // false when the trace's header is not read yet
  Result<> checked(Result<> read);

  Reader reader_;
  std::optional<Writer> writer_;
  SourceId source_{};
  std::size_t named_threads_ = 0;
  WriteBytes write_;
  std::function<bool(const Event&)> keep_;
  OnBatch on_batch_;
  std::vector<std::pair<Bytes, Place>> included_{};
  bool cut_begin_ = false;
  std::optional<TraceTime> window_;
  std::int64_t newest_ = 0;     // ticks of the latest event
  std::optional<Error> error_;  // of writing
};

}  // namespace clrscope::nettrace
