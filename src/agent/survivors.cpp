#include "agent/survivors.h"

#include "agent/stack.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kMostObjects = 4096;
constexpr std::uint32_t kMostArrivals = 4096;  // sampled since the last collection
constexpr std::uint32_t kProbes = 64;
constexpr std::uint32_t kGenerations = 5;
constexpr std::uint32_t kOldest = 2, kLarge = 3;
constexpr std::uint64_t kLargeObject = 85'000;
constexpr std::uint32_t kFates = 4;

enum ArrivalState : std::uint32_t { kFree, kWriting, kReady };

struct GenerationRange {
  std::int32_t generation;
  Id start;
  std::size_t size;
  std::size_t reserved;
};
static_assert(sizeof(GenerationRange) == 32);

// GC threads only, and for microseconds.
class Locked {
 public:
  explicit Locked(std::atomic<std::uint32_t>& word) : word_(word) {
    while (word_.exchange(1, std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }
  ~Locked() { word_.store(0, std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic<std::uint32_t>& word_;
};

}  // namespace

struct Survivors::Arrival {
  std::atomic<std::uint32_t> state;
  std::uint32_t number;
  Id address;
  std::uint64_t size;
};

struct Survivors::Object {
  Id address;
  Id moved;  // where this collection put it
  std::uint64_t born;  // collections before it
  std::uint32_t number;
  std::uint8_t generation;
  std::uint8_t survived;
  bool large;
  bool seen;
};

struct Survivors::Tables {
  Arrival arrivals[kMostArrivals];
  Object objects[kMostObjects];  // by address while a collection runs
  std::uint32_t fates[kFates][wire::kMostFrames];
  std::uint32_t fate_counts[kFates];
};

bool Survivors::reset() {
  if (!tables_) tables_ = static_cast<Tables*>(map_memory(sizeof(Tables)));
  if (!tables_) return false;
  const Locked lock{locked_};
  for (auto& arrival : tables_->arrivals) arrival.state.store(kFree, std::memory_order_relaxed);
  arrived_ = 0;
  next_number_ = 0;
  count_ = 0;
  collections_ = 0;
  depth_ = 0;
  return true;
}

std::uint32_t Survivors::follow(Id address, std::uint64_t size) {
  if (!tables_ || address == 0 || arrived_.load(std::memory_order_relaxed) >= kMostArrivals)
    return 0;
  auto number = next_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == 0) return 0;
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    auto& arrival = tables_->arrivals[(number + i) % kMostArrivals];
    std::uint32_t expected = kFree;
    if (!arrival.state.compare_exchange_strong(expected, kWriting, std::memory_order_acq_rel))
      continue;
    arrival.number = number;
    arrival.address = address;
    arrival.size = size;
    arrived_.fetch_add(1, std::memory_order_relaxed);
    arrival.state.store(kReady, std::memory_order_release);
    return number;
  }
  return 0;
}

void Survivors::take_arrivals() {
  if (arrived_.load(std::memory_order_relaxed) == 0) return;
  for (auto& arrival : tables_->arrivals) {
    if (arrival.state.load(std::memory_order_acquire) != kReady) continue;
    if (count_ == kMostObjects) return;  // the others wait for the next collection
    tables_->objects[count_++] = {.address = arrival.address,
                                  .moved = 0,
                                  .born = collections_,
                                  .number = arrival.number,
                                  .generation = 0,
                                  .survived = 0,
                                  .large = arrival.size >= kLargeObject,
                                  .seen = false};
    arrived_.fetch_sub(1, std::memory_order_relaxed);
    arrival.state.store(kFree, std::memory_order_release);
  }
}

void Survivors::collection_started(ComObject* runtime, const Collected& collected) {
  if (!tables_) return;
  const Locked lock{locked_};
  if (depth_ == kDeepest) depth_ = 0;  // an end was missed
  take_arrivals();
  auto& collection = running_[depth_++];
  collection = {.number = ++collections_, .oldest = 0, .mask = 0};
  for (std::uint32_t i = 0; i < kGenerations && static_cast<std::int32_t>(i) < collected.count; ++i)
    if (collected.generations[i] != 0) {
      collection.mask |= 1U << i;
      if (i <= kOldest) collection.oldest = i;
    }
  auto* objects = tables_->objects;
  for (std::uint32_t i = 0; i < count_; ++i) {
    GenerationRange range{};
    auto& object = objects[i];
    if (call(runtime, info::kGetObjectGeneration, object.address, &range) >= 0 &&
        range.generation >= 0 && range.generation < static_cast<std::int32_t>(kGenerations))
      object.generation = static_cast<std::uint8_t>(range.generation);
    else
      object.generation = object.large ? kLarge : object.survived;
    object.seen = false;
  }
  // By address. Nearly sorted after the first time: new objects are at the end.
  for (std::uint32_t gap = kMostObjects / 2; gap > 0; gap /= 2)
    for (std::uint32_t i = gap; i < count_; ++i) {
      const auto one = objects[i];
      std::uint32_t at = i;
      for (; at >= gap && objects[at - gap].address > one.address; at -= gap)
        objects[at] = objects[at - gap];
      objects[at] = one;
    }
}

void Survivors::survived(const SurvivorRanges& ranges) {
  if (!tables_) return;
  const Locked lock{locked_};
  auto* objects = tables_->objects;
  for (std::uint32_t i = 0; i < ranges.count; ++i) {
    const auto start = ranges.from[i];
    std::uint32_t low = 0, high = count_;
    while (low < high) {
      const auto middle = (low + high) / 2;
      if (objects[middle].address < start)
        low = middle + 1;
      else
        high = middle;
    }
    for (; low < count_ && objects[low].address - start < ranges.sizes[i]; ++low) {
      objects[low].seen = true;
      objects[low].moved = ranges.to ? ranges.to[i] + (objects[low].address - start)
                                     : objects[low].address;
    }
  }
}

// True: it is followed further.
bool Survivors::settle(const Collection& collection, bool all_seen, Object& object,
                       Recorder& recorder) {
  auto fate = wire::Fate::kDied;
  if (object.seen) {
    object.address = object.moved;
    fate = ++object.survived == 1 ? wire::Fate::kSurvivedOne : wire::Fate::kSurvivedTwo;
  } else {
    const bool collected =
        (collection.mask >> object.generation & 1) != 0 && object.born < collection.number;
    if (!collected) return true;
    if (!all_seen) fate = wire::Fate::kUnknown;
  }
  const auto row = static_cast<std::uint32_t>(fate);
  auto& count = tables_->fate_counts[row];
  tables_->fates[row][count++] = object.number;
  if (count == wire::kMostFrames) {
    recorder.write(wire::ObjectsSeen{.header = {.kind = wire::RecordKind::kObjectsSeen,
                                                .bytes = 0,
                                                .thread = this_thread(),
                                                .time = read_tsc()},
                                     .collection = collection.number,
                                     .generation = collection.oldest,
                                     .fate = fate,
                                     .reserved = 0,
                                     .frames = count},
                   tables_->fates[row], count);
    count = 0;
  }
  return fate == wire::Fate::kSurvivedOne;
}

void Survivors::collection_finished(Recorder& recorder) {
  if (!tables_) return;
  const Locked lock{locked_};
  if (depth_ == 0) return;  // it began before we listened
  const auto collection = running_[--depth_];
  auto* objects = tables_->objects;
  // A background collection tells nothing of young objects: when none of them was seen in a full
  // collection, the rest may be alive.
  bool young_seen = false, large_seen = false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    young_seen = young_seen || (objects[i].seen && objects[i].generation < kOldest);
    large_seen = large_seen || (objects[i].seen && objects[i].generation >= kOldest);
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const bool all_seen = collection.oldest < kOldest ||
                          (objects[i].generation < kOldest ? young_seen : large_seen);
    const bool stays = settle(collection, all_seen, objects[i], recorder);
    if (stays) objects[kept++] = objects[i];
  }
  count_ = kept;
  for (std::uint32_t row = 0; row < kFates; ++row) {
    auto& count = tables_->fate_counts[row];
    if (count == 0) continue;
    recorder.write(wire::ObjectsSeen{.header = {.kind = wire::RecordKind::kObjectsSeen,
                                                .bytes = 0,
                                                .thread = this_thread(),
                                                .time = read_tsc()},
                                     .collection = collection.number,
                                     .generation = collection.oldest,
                                     .fate = static_cast<wire::Fate>(row),
                                     .reserved = 0,
                                     .frames = count},
                   tables_->fates[row], count);
    count = 0;
  }
}

}  // namespace clrscope::agent
