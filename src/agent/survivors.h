// Follows sampled objects through the next two garbage collections.
//
// Each has a weak handle of the runtime, which is empty when the object is dead. An object has
// survived a collection when it is in an older generation afterwards; a large one, which has no
// older one, when its generation was collected and it is still there. Objects are never read. The
// tables have a fixed size; an object that finds no place is not followed, and counted.
//
// Any thread may call follow(); it never waits. GC threads call the next two, the worker release().
#pragma once

#include "agent/own_events.h"
#include "agent/recorder.h"

namespace clrscope::agent {

struct Collected {
  const std::int32_t* generations;  // for each, whether it is collected: 0, 1, 2, large, pinned
  std::int32_t count;
};

class Survivors {
 public:
  constexpr Survivors() = default;

  // Forgets all objects. False: there is no memory.
  bool reset();
  // The number of the object; 0: there is no place for it.
  std::uint32_t follow(ComObject* runtime, Id object);

  void collection_started(ComObject* runtime, const Collected& collected);
  void collection_finished(ComObject* runtime, Recorder& recorder, const OwnEvents& events);
  // Gives all handles back.
  void release(ComObject* runtime);

 private:
  struct Arrival;
  struct Object;
  struct Tables;
  // A background collection may have others inside.
  struct Collection {
    std::uint64_t number;
    std::uint32_t oldest;  // generation
    std::uint32_t mask;    // a bit for each generation
  };
  static constexpr std::uint32_t kDeepest = 2;

  static constexpr std::uint32_t kHandlesAtOnce = 256;

  void take_arrivals();
  std::uint32_t take_handles(Id (&handles)[kHandlesAtOnce]);
  bool settle(ComObject* runtime, const Collection& collection, Object& object, wire::Fate& fate);
  void write(Recorder& recorder, const Collection& collection, wire::Fate fate);

  Tables* tables_ = nullptr;  // stays: mapped once
  std::atomic<std::uint32_t> locked_{0};
  std::atomic<std::uint32_t> next_number_{0};
  std::atomic<std::uint32_t> followed_{0};
  std::uint32_t count_ = 0;
  std::uint64_t collections_ = 0;
  Collection running_[kDeepest]{};
  std::uint32_t depth_ = 0;
};

}  // namespace clrscope::agent
