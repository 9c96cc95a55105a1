// Follows sampled objects through the next two garbage collections.
//
// The runtime tells, in each collection, which ranges of memory survived and where they went. An
// object of a collected generation that is in none of them is dead. Addresses are only compared,
// never read: a wrong one gives a wrong count at worst. The tables have a fixed size; an object that
// finds no place is not followed, and counted. Any thread may call follow(); it never waits. The
// others are called by the runtime's GC threads.
#pragma once

#include <cstddef>

#include "agent/recorder.h"

namespace clrscope::agent {

struct Collected {
  const std::int32_t* generations;  // for each, whether it is collected: 0, 1, 2, large, pinned
  std::int32_t count;
};
struct SurvivorRanges {
  std::uint32_t count;
  const Id* from;
  const Id* to;  // null: they did not move
  const std::size_t* sizes;
};

class Survivors {
 public:
  constexpr Survivors() = default;

  // Forgets all objects. False: there is no memory.
  bool reset();
  // The number of the object; 0: there is no place for it.
  std::uint32_t follow(Id address, std::uint64_t size);

  void collection_started(ComObject* runtime, const Collected& collected);
  void survived(const SurvivorRanges& ranges);
  void collection_finished(Recorder& recorder);

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

  void take_arrivals();
  bool settle(const Collection& collection, bool all_seen, Object& object, Recorder& recorder);

  Tables* tables_ = nullptr;  // stays: mapped once
  std::atomic<std::uint32_t> locked_{0};
  std::atomic<std::uint32_t> next_number_{0};
  std::atomic<std::uint32_t> arrived_{0};
  std::uint32_t count_ = 0;
  std::uint64_t collections_ = 0;
  Collection running_[kDeepest]{};
  std::uint32_t depth_ = 0;
};

}  // namespace clrscope::agent
