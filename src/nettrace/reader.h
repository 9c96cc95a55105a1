// Reads the .nettrace stream, versions 3 to 6, into model events.
//
// Does not resolve symbols and does no I/O: bytes in, batches out. One Reader belongs to one
// thread. A batch and everything it points to live until its callback returns; event types live as
// long as the reader. Events come in file order: per capture thread by time, but not over all
// threads (order.h sorts). Damage ends a block, not the reading. Format: docs/formats/nettrace.md
//
//   Reader reader;
//   const auto on_batch = [&](const Batch& batch) {
//     for (const Event& event : batch.events) use(event, reader.stack(event.stack));
//   };
//   while (…) TRY(reader.feed(chunk, on_batch));   // a mapped file may be one chunk: read in place
//   TRY(reader.finish(on_batch));                  // then summary(), damage(), loss()
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace clrscope::nettrace {

// What the trace says of itself, once its header is read.
struct TraceInfo {
  std::uint32_t version = 0;  // 3 (NetPerf), 4 (also "V5") or 6
  WallTime start{};           // the wall clock at sync_ticks
  std::int64_t sync_ticks = 0;
  std::int64_t ticks_per_second = 0;
  std::uint32_t pointer_size = 8;
  ProcessId process{};            // 0 when the trace has many or does not say
  std::uint32_t processors = 0;   // 0 when it does not say
  std::uint32_t sampling_ns = 0;  // likewise
  // A flight recording holds what happened from so long after sync_ticks on, and what earlier
  // events name; 0: all of it.
  std::int64_t window_ns = 0;
  std::vector<std::pair<std::string, std::string>> properties{};  // V6, all of them

  TraceTime time_of(std::int64_t ticks) const;
  TraceTime begin() const;  // of what the trace holds
  bool only_names(TraceTime time) const { return window_ns > 0 && time < begin(); }
  WallTime wall_of(TraceTime time) const { return start + (time - time_of(sync_ticks)); }
};

// All events up to this time have been handed over; stack ids given so far mean nothing after it.
struct SequencePoint {
  TraceTime time{};
  std::int64_t ticks = 0;
};

struct Batch {
  std::span<const Event> events;
  const SequencePoint* sequence_point = nullptr;  // if there is one, it follows the events
};
using OnBatch = std::function<void(const Batch&)>;

struct Damage {
  std::uint64_t offset;  // in the (uncompressed) trace
  std::string what;
};

struct Summary {
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;     // handed over
  std::uint64_t lost = 0;       // by the recorder: gaps in the sequence numbers
  std::uint64_t undefined = 0;  // left out: their type is nowhere declared
  std::uint64_t damaged = 0;    // pieces that could not be read; damage() lists the first ones
  std::uint64_t skipped_bytes = 0;
  bool truncated = false;  // ends in the middle of something
  bool ended = false;      // has its end mark
};

// One writer of events, with the sequence number it had reached.
struct CaptureThread {
  std::uint64_t id = 0;  // as in Event::capture_thread
  ProcessId process{};
  ThreadId thread{};
  std::uint32_t sequence = 0;  // of its last event, lost or not
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  bool live = true;  // false: the trace said it is gone, and its id may stand for another now
};

// A thread that a V6 trace declared.
struct ThreadInfo {
  std::uint64_t index = 0;
  ProcessId process{};
  ThreadId thread{};
  std::string name{};
  std::vector<std::pair<std::string, std::string>> attributes{};
};

class Reader {
 public:
  Reader();
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // Hands over what is complete and keeps the rest for the next call. Fails only for input that is
  // no trace, of a version nobody knows, or beyond the limits; then every later call fails too.
  Result<> feed(Bytes chunk, const OnBatch& on_batch);

  // The end of the input: hands over the whole events of a block that was cut short.
  Result<> finish(const OnBatch& on_batch);

  const TraceInfo* info() const;      // null before the header was read
  std::uint64_t whole_bytes() const;  // up to the end of the last whole block
  StackView stack(StackId id) const;  // empty when the id is not known; only inside on_batch

  std::size_t type_count() const;
  const EventType& type(std::size_t index) const;

  const Summary& summary() const;
  std::span<const Damage> damage() const;   // at most 100
  std::vector<CaptureThread> loss() const;  // all that wrote, also those that lost nothing
  std::vector<ThreadInfo> threads() const;  // V6; those known now
  std::size_t thread_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::nettrace
