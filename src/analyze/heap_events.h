// A heap from the events with which the garbage collector walks it: GCBulkNode, GCBulkEdge,
// GCBulkType, GCBulkRootEdge, GCBulkRootStaticVar and so on.
//
// The runtime sends them during the induced blocking gen 2 collection that a session with
// kHeapWalkKeywords causes at its start. The first such collection of the trace counts. Events of
// a trace may be lost: nodes tell how many references they have, so that a gap in the stream of
// references is seen, and the heap says what is missing (notes, unresolved_edges).
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "model/heap.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

// Of Microsoft-Windows-DotNETRuntime, at level Verbose: GC, Type, GCHeapDump,
// GCHeapSurvivalAndMovement, GCHeapCollect, GCHeapAndTypeNames. Starting a session with them makes
// the runtime collect.
constexpr std::uint64_t kHeapWalkKeywords = 0x1d80001;

class HeapEvents {
 public:
  HeapEvents();
  ~HeapEvents();
  HeapEvents(HeapEvents&&) noexcept;
  HeapEvents& operator=(HeapEvents&&) noexcept;

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);

  bool begun() const;             // the collection that walks the heap has started
  bool complete() const;          // it has ended: no more of the heap will come
  std::uint64_t objects() const;  // seen so far

  // The end of the trace, which lost so many events. Fails when the trace has no walk of a heap.
  Result<HeapSnapshot> finish(std::uint64_t lost) &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::analyze
