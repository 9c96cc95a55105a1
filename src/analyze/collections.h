// Garbage collections and the pauses they caused.
//
// A pause lasts from the suspension's beginning to the restart's beginning: from then on threads
// run again, while the one that restarts them may have to wait for a processor before it tells that
// it is done. The runtime suspends itself for other reasons too (its sampler does), and those do
// not count. A background collection's first pause is ended by another thread, and it has a second
// one with no start of its own. Processes pause each for itself: shares of the time are those of
// one.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "analyze/sites.h"
#include "base/shape.h"
#include "model/event.h"

namespace clrscope::analyze {

// Sizes of a heap after a collection.
struct HeapSizes {
  std::uint64_t gen0 = 0;
  std::uint64_t gen1 = 0;
  std::uint64_t gen2 = 0;
  std::uint64_t loh = 0;
  std::uint64_t poh = 0;
  std::uint64_t total = 0;
  std::uint64_t promoted = 0;
  std::uint64_t pinned_objects = 0;
  std::uint64_t gc_handles = 0;
};
const Shape& shape_of(const HeapSizes*);
HeapSizes heap_sizes(const nettrace::GcHeapStats& heap);

struct Collection {
  ProcessId process{};
  std::uint32_t number = 0;
  std::uint32_t generation = 0;
  std::uint32_t reason = 0;                            // "GCReason"
  std::uint32_t type = 0;                              // "GCType"
  std::chrono::nanoseconds start{};                    // since the trace's beginning
  std::optional<std::chrono::nanoseconds> duration{};  // unknown when its end is not in the trace
  std::optional<std::chrono::nanoseconds> pause{};     // all of its pauses; unknown likewise
  std::chrono::nanoseconds longest_pause{};            // of them: a background one has two
  std::chrono::nanoseconds restarts{};  // from there to the restart's end, which others count too
  std::optional<nettrace::GcHeapStats> heap_after{};

  bool background() const { return type == 1; }
};

class Collections {
 public:
  // Other events cost one comparison.
  void on_event(const Event& event, nettrace::Known known, std::uint32_t pointer_size);
  void end_of_trace(const nettrace::Reader& reader);

  const std::vector<Collection>& all() const { return all_; }  // by process, start
  std::chrono::nanoseconds paused() const;                     // of all processes together
  const std::map<ProcessId, std::chrono::nanoseconds>& paused_by_process() const { return paused_; }
  std::chrono::nanoseconds most_paused() const;  // of one process

 private:
  struct Note {
    TraceTime time;
    ProcessId process;
    ThreadId thread;
    nettrace::Known known;
    std::uint32_t a = 0, b = 0, c = 0, d = 0;  // start: number, generation, reason, type
    std::uint32_t heap = 0;                    // index into heaps_
  };
  struct Started {
    std::size_t owner;  // index into all_
    TraceTime time;
  };
  struct Suspension {
    ThreadId thread;
    TraceTime begin;
    bool for_collection;
    bool in_one;                      // that has started before, in the background
    std::optional<TraceTime> over{};  // its restart has begun
    std::vector<Started> started{};   // in it
  };
  void replay(std::vector<Note>::iterator begin, std::vector<Note>::iterator end, TraceTime from);
  std::vector<Suspension>::iterator ended_by(std::vector<Suspension>& open, const Note& note);
  void restart(std::vector<Suspension>& open, const Note& note, std::size_t first);

  std::vector<Note> notes_;  // of the trace being read: in file order, sorted at its end
  std::vector<nettrace::GcHeapStats> heaps_;
  std::vector<Collection> all_;
  std::map<ProcessId, std::chrono::nanoseconds> paused_;
};

}  // namespace clrscope::analyze
