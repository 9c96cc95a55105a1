// Writes a .nettrace stream, version 6: events in, bytes out, no I/O. One Writer belongs to one
// thread.
//
// Events may come from several sources (readers, samplers), each with its own types, capture
// threads and sequence numbers; gaps in those become gaps in the file, so that a loss is still to
// be seen. Events are copied and held until about 1 MB has gathered, and are put in order of time
// per capture thread. All ticks are of the clock that the TraceInfo given at the start describes.
// Format: docs/formats/nettrace.md
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "nettrace/reader.h"

namespace clrscope::nettrace {

// Takes the bytes away at once: they live until it returns.
using WriteBytes = std::function<Result<>(Bytes)>;

enum class SourceId : std::uint32_t {};

struct WriterSummary {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;  // as a reader of the file will count them
  std::uint64_t bytes = 0;
  std::uint64_t late = 0;  // came after later ones were written; only where advance() is used
};

class Writer {
 public:
  // info: start, sync_ticks (no event may be earlier), ticks_per_second and pointer_size must be
  // set. What of process, processors and sampling_ns is not 0 is written beside the properties.
  Writer(const TraceInfo& info, WriteBytes write);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Whether the events of a source carry sequence numbers: none, or per capture thread from the
  // first one seen (V4), or from 1 (V6), or from the first seen of a V6 trace without its
  // beginning.
  enum class Numbering { kNone, kFromFirstSeen, kFromZero, kIndexFromFirstSeen };
  SourceId add_source(Numbering numbering);

  // Nothing more comes from it: writes what is held, its losses included, and forgets it.
  Result<> remove_source(SourceId source);

  // The event's `stack` is not looked at: the addresses are given here, leaf first.
  Result<> write(SourceId source, const Event& event, const StackView& stack = {});

  // The source had this event too, but it shall not be written: it is not lost.
  void skip(SourceId source, const Event& event);
  // The source says which number a capture thread had reached: what is missing up to it is lost.
  void checkpoint(SourceId source, std::uint64_t capture_thread, std::uint32_t sequence);
  // So many events of a source were lost, by whom is not known.
  void add_lost(SourceId source, std::uint64_t count);

  // Before the thread's first event; later it is too late.
  void name_thread(ProcessId process, ThreadId thread, std::string name);
  // So that a long recording does not gather them, threads that have ended are forgotten, when
  // 10,000 others have ended since: what comes late has its name until then.
  void thread_ended(ProcessId process, ThreadId thread, std::int64_t ticks);
  void process_ended(ProcessId process, std::int64_t ticks);

  // Writes what is held, so that a reader of the file so far sees it.
  Result<> flush();

  // For several live sources: from the first call on events are held until all sources have come so
  // far, or 8 MB are held. What comes for a time that was written already is late: it is written
  // all the same, and counted.
  Result<> advance(std::int64_t ticks);

  // Every event up to this time has been written: readers may sort and hand over what they have.
  Result<> sequence_point(std::int64_t ticks);

  // What is written was made from a trace of which this could not be read: readers of ours say so.
  void tell_damage(const Summary& read, std::span<const Damage> damage);

  // Writes what is held, the last sequence point and the end mark.
  Result<> finish();

  const WriterSummary& summary() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::nettrace
