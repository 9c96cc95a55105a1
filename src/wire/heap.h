// Records of a walk over the heap, and of every allocation counted. Compiles freestanding.
#pragma once

#include "wire/records.h"

namespace clrscope::wire {

// The value of a request kHeap.
enum HeapOptions : std::uint32_t {
  kHeapReferences = 1,  // which types refer to which; needs .NET 9
};

// What CLRSCOPE_AGENT_START in the environment of a process asks for: "objects,moved,transitions".
enum StartFeatures : std::uint32_t {
  kStartObjects = 1,      // every object allocated
  kStartMoved = 2,        // objects that collections move
  kStartTransitions = 4,  // calls between managed and native code
};

// Objects of a type; of kCallsTo… calls of a method; of kObjectsMoved ranges that were moved.
struct HeapType {
  RecordHeader header;
  std::uint64_t count;
  std::uint64_t bytes;
  std::uint32_t type;  // name slot
  std::uint32_t reserved;
};

struct HeapEdge {
  RecordHeader header;
  std::uint64_t count;  // references from objects of one type to objects of the other
  std::uint32_t from;   // name slots
  std::uint32_t to;
};

enum class HeapSource : std::uint32_t {
  kWalk = 1,    // EnumerateGCHeapObjects: all objects, also those that nobody refers to any more
  kEvents = 2,  // the events of a garbage collection: what it found alive
};

struct HeapEnd {
  RecordHeader header;
  std::uint64_t pause_ticks;
  std::uint64_t objects;
  std::uint64_t bytes;
  std::uint64_t uncounted;  // objects whose type found no place in the table
  std::uint64_t lost_edges;
  std::uint32_t types;
  HeapSource source;
};

static_assert(sizeof(HeapType) == 40 && sizeof(HeapEdge) == 32 && sizeof(HeapEnd) == 64);

}  // namespace clrscope::wire
