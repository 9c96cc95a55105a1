// The objects of the heap by type, seen from inside.
//
// .NET 9 and later enumerate them (walk(), on the worker thread); .NET 8 tells them as events of a
// garbage collection that an event session causes (walk_by_events(), on an event thread; on_event()
// on the thread that collects; then write() on the worker: the runtime tells no names to a thread
// that has run managed code). Both pause the process. Types get their names when it runs again. One
// walk at a time.
#pragma once

#include "agent/events.h"
#include "agent/recorder.h"
#include "agent/type_counts.h"
#include "wire/heap.h"

namespace clrscope::agent {

class HeapWalk {
 public:
  constexpr HeapWalk() = default;

  HResult walk(ComObject* runtime, Recorder& recorder, bool references);
  HResult walk_by_events(ComObject* runtime);
  // What the events told.
  void write(ComObject* runtime, Recorder& recorder);

  bool listens() const { return listens_.load(std::memory_order_acquire); }
  void on_event(const DeliveredEvent& event);
  // In the runtime's callback before something is unloaded: names are asked for meanwhile.
  void on_unload();

 private:
  struct Edge;
  struct Walking;
  static std::int32_t on_object(Id object, void* data);
  static std::int32_t on_reference(Id object, Id* reference, void* data);
  bool prepare(bool references);
  void add_edge(Id from, Id to);

  TypeCounts types_;
  Edge* edges_ = nullptr;  // stays: mapped once
  std::uint64_t lost_edges_ = 0;
  std::atomic<bool> listens_{false};
  std::atomic<std::uint32_t> unloads_{0};
  std::atomic<std::uint32_t> naming_{0};
  std::uint32_t unloads_before_ = 0;  // the walk began
  // Of the events; they come one after the other.
  std::uint64_t suspended_ = 0;
  std::uint64_t pause_ = 0;
  bool nodes_ = false;
  wire::HeapSource source_{};
};

}  // namespace clrscope::agent
