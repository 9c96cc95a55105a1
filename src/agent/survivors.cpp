#include "agent/survivors.h"

#include "agent/stack.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kMostObjects = 4096;
constexpr std::uint32_t kProbes = 64;
constexpr std::uint32_t kGenerations = 5;
constexpr std::uint32_t kOldest = 2, kUnknownGeneration = 0xff;
constexpr std::uint32_t kWeak = 1;  // kind of handle
constexpr std::uint32_t kFates = 4;

enum ArrivalState : std::uint32_t { kFree, kWriting, kReady };

struct GenerationRange {
  std::int32_t generation;
  Id start;
  std::size_t size;
  std::size_t reserved;
};
static_assert(sizeof(GenerationRange) == 32);

// Held for microseconds, by a GC thread or the worker.
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

// The object of a handle; 0: it is dead.
Id object_of(ComObject* runtime, Id handle) {
  Id object = 0;
  return call(runtime, info::kGetObjectIDFromHandle, handle, &object) < 0 ? 0 : object;
}

std::uint8_t generation_of(ComObject* runtime, Id object) {
  GenerationRange range{};
  if (object == 0 || call(runtime, info::kGetObjectGeneration, object, &range) < 0 ||
      range.generation < 0 || range.generation >= static_cast<std::int32_t>(kGenerations))
    return kUnknownGeneration;
  return static_cast<std::uint8_t>(range.generation);
}

}  // namespace

struct Survivors::Arrival {
  std::atomic<std::uint32_t> state;
  std::uint32_t number;
  Id handle;
};

struct Survivors::Object {
  Id handle;
  std::uint64_t born;  // collections before it
  std::uint32_t number;
  std::uint8_t generation;  // before the collection
  std::uint8_t survived;
};

struct Survivors::Tables {
  Arrival arrivals[kMostObjects];  // sampled since the last collection
  Object objects[kMostObjects];
  std::uint32_t fates[kFates][wire::kMostFrames];
  std::uint32_t fate_counts[kFates];
};

bool Survivors::reset() {
  if (!tables_) tables_ = static_cast<Tables*>(map_memory(sizeof(Tables)));
  if (!tables_) return false;
  const Locked lock{locked_};
  next_number_ = 0;
  collections_ = 0;
  depth_ = 0;
  return true;
}

std::uint32_t Survivors::follow(ComObject* runtime, Id object) {
  if (!tables_ || object == 0) return 0;
  if (followed_.fetch_add(1, std::memory_order_relaxed) >= kMostObjects) {
    followed_.fetch_sub(1, std::memory_order_relaxed);
    return 0;
  }
  const auto number = next_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    auto& arrival = tables_->arrivals[(number + i) % kMostObjects];
    std::uint32_t expected = kFree;
    if (!arrival.state.compare_exchange_strong(expected, kWriting, std::memory_order_acq_rel))
      continue;
    Id handle = 0;
    const bool made =
        call(runtime, info::kCreateHandle, object, kWeak, &handle) >= 0 && handle != 0;
    arrival.number = number;
    arrival.handle = handle;
    arrival.state.store(made ? kReady : kFree, std::memory_order_release);
    if (made) return number;
    break;
  }
  followed_.fetch_sub(1, std::memory_order_relaxed);
  return 0;
}

void Survivors::take_arrivals() {
  for (auto& arrival : tables_->arrivals) {
    if (count_ == kMostObjects) return;
    if (arrival.state.load(std::memory_order_acquire) != kReady) continue;
    tables_->objects[count_++] = {.handle = arrival.handle,
                                  .born = collections_,
                                  .number = arrival.number,
                                  .generation = kUnknownGeneration,
                                  .survived = 0};
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
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto& object = tables_->objects[i];
    object.generation = generation_of(runtime, object_of(runtime, object.handle));
  }
}

// True: something became known of the object.
bool Survivors::settle(ComObject* runtime, const Collection& collection, Object& object,
                       wire::Fate& fate) {
  const auto now = object_of(runtime, object.handle);
  if (now == 0) {
    fate = wire::Fate::kDied;
    return true;
  }
  // A background collection began before the object was there, or did not look at young ones.
  if (object.born >= collection.number || object.generation == kUnknownGeneration) return false;
  const bool collected = (collection.mask >> object.generation & 1) != 0;
  if (!collected) return false;
  const auto after = generation_of(runtime, now);
  if (object.generation < kOldest && (after == kUnknownGeneration || after <= object.generation))
    return false;
  fate = ++object.survived == 1 ? wire::Fate::kSurvivedOne : wire::Fate::kSurvivedTwo;
  object.generation = after;
  return true;
}

void Survivors::write(Recorder& recorder, const Collection& collection, wire::Fate fate) {
  const auto row = static_cast<std::uint32_t>(fate);
  auto& count = tables_->fate_counts[row];
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

void Survivors::collection_finished(ComObject* runtime, Recorder& recorder,
                                    const OwnEvents& events) {
  if (!tables_) return;
  const Locked lock{locked_};
  if (depth_ == 0) return;  // it began before we listened
  const auto collection = running_[--depth_];
  auto* objects = tables_->objects;
  std::uint32_t kept = 0;
  std::uint32_t seen[kFates] = {};
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto& object = objects[i];
    auto fate = wire::Fate::kUnknown;
    if (settle(runtime, collection, object, fate)) {
      const auto row = static_cast<std::uint32_t>(fate);
      ++seen[row];
      tables_->fates[row][tables_->fate_counts[row]++] = object.number;
      if (tables_->fate_counts[row] == wire::kMostFrames) write(recorder, collection, fate);
      if (fate != wire::Fate::kSurvivedOne) {
        (void)call(runtime, info::kDestroyHandle, object.handle);
        followed_.fetch_sub(1, std::memory_order_relaxed);
        continue;
      }
    }
    objects[kept++] = object;
  }
  count_ = kept;
  for (std::uint32_t row = 0; row < kFates; ++row)
    // Collections without changes are recorded too: they count.
    if (tables_->fate_counts[row] > 0 || row == static_cast<std::uint32_t>(wire::Fate::kUnknown))
      write(recorder, collection, static_cast<wire::Fate>(row));
  const auto count_of = [&](wire::Fate fate) { return seen[static_cast<std::uint32_t>(fate)]; };
  events.write(runtime, SurvivorCounts{.collection = collection.number,
                                       .generation = collection.oldest,
                                       .died = count_of(wire::Fate::kDied),
                                       .survived_first = count_of(wire::Fate::kSurvivedOne),
                                       .survived_second = count_of(wire::Fate::kSurvivedTwo)});
}

// Takes some handles out of the tables; 0: there are none left.
std::uint32_t Survivors::take_handles(Id (&handles)[kHandlesAtOnce]) {
  const Locked lock{locked_};
  std::uint32_t taken = 0;
  for (; count_ > 0 && taken < kHandlesAtOnce; --count_)
    handles[taken++] = tables_->objects[count_ - 1].handle;
  for (auto& arrival : tables_->arrivals) {
    if (taken == kHandlesAtOnce) break;
    if (arrival.state.load(std::memory_order_acquire) != kReady) continue;
    handles[taken++] = arrival.handle;
    arrival.state.store(kFree, std::memory_order_release);
  }
  followed_.fetch_sub(taken, std::memory_order_relaxed);
  return taken;
}

void Survivors::release(ComObject* runtime) {
  if (!tables_) return;
  // Without the lock: the runtime may let this thread wait for a collection, whose thread wants it.
  Id handles[kHandlesAtOnce];
  while (const auto taken = take_handles(handles))
    for (std::uint32_t i = 0; i < taken; ++i) (void)call(runtime, info::kDestroyHandle, handles[i]);
}

}  // namespace clrscope::agent
