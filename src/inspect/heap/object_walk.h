// Walks the segments of a heap from object to object.
//
// Where the next object is not one, the walk goes on at a place from which a chain of objects
// follows, and what lies between is counted: nothing is guessed. Internal to heap/.
#pragma once

#include <cstdint>
#include <map>

#include "inspect/gc_table.h"
#include "inspect/heap/method_tables.h"
#include "inspect/heap/window.h"

namespace clrscope::inspect {

class ObjectWalk {
 public:
  // All outlive it. Adds objects to `heap.graph` and types by number, without names.
  ObjectWalk(Target& target, MethodTables& tables, HeapSnapshot& heap);

  // From this place on, which is where an object ends, there is nothing until after `range.end`.
  void skip(const HeapRange& range) {
    if (range.start != 0 && range.start <= range.end) contexts_[range.start] = range.end;
  }
  // In ascending order, one after the other.
  void walk(const GcSegment& segment);

 private:
  struct Next {
    std::uint64_t at = 0;
    bool nothing_there = false;  // between here and there are zeros only
  };
  struct Seen {
    ObjectLayout* layout = nullptr;
    std::uint64_t size = 0;
  };
  Seen object_at(std::uint64_t at, std::uint64_t end);
  void add(std::uint64_t at, const Seen& object, HeapSegment& segment);
  Next resume(std::uint64_t at, std::uint64_t end);
  bool chain_follows(std::uint64_t at, std::uint64_t end);
  std::uint64_t next_readable(std::uint64_t at, std::uint64_t end) const;

  Window window_;
  Window ahead_;  // for looking whether a chain follows
  MethodTables& tables_;
  HeapSnapshot& heap_;
  std::vector<Mapping> mappings_;                    // by start
  std::map<std::uint64_t, std::uint64_t> contexts_;  // to their limits
  std::uint64_t patience_;                           // words that are still looked at
};

}  // namespace clrscope::inspect
