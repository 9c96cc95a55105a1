#include "agent/objects.h"

#include "agent/names.h"
#include "agent/stack.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr std::uint64_t kBetweenNs = 1'000'000'000;
constexpr int kLongestWaitMs = 500;

// Writers wait for each other, at most so long; a tick does not wait.
class Turn {
 public:
  Turn(std::atomic<std::uint32_t>& word, bool waits) : word_(word) {
    for (int waited = 0; word_.exchange(1, std::memory_order_acquire) != 0; ++waited) {
      if (!waits || waited == kLongestWaitMs) return;
      syscall_raw(number::kPoll, 0, 0, 1);
    }
    has_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_) word_.store(0, std::memory_order_release);
  }
  explicit operator bool() const { return has_; }

 private:
  std::atomic<std::uint32_t>& word_;
  bool has_ = false;
};

void put(Recorder& recorder, wire::RecordKind kind, std::uint64_t count, std::uint64_t bytes,
         std::uint32_t slot) {
  const wire::HeapType record{.header = {.kind = kind,
                                         .bytes = sizeof(wire::HeapType),
                                         .thread = this_thread(),
                                         .time = read_tsc()},
                              .count = count,
                              .bytes = bytes,
                              .type = slot,
                              .reserved = 0};
  (void)recorder.fill_record(record.header.thread, sizeof record,
                             [&](void* at) { __builtin_memcpy(at, &record, sizeof record); });
}

}  // namespace

bool Objects::start(std::uint32_t features) {
  features_ = 0;
  if ((features & wire::kStartObjects) != 0 && !types_.open()) return false;
  if ((features & wire::kStartTransitions) != 0 && (!out_.open() || !in_.open())) return false;
  features_ = features;
  return true;
}

std::uint32_t Objects::mask() const {
  return ((features_ & wire::kStartObjects) != 0
              ? mask::kObjectAllocated | mask::kEnableObjectAllocated
              : 0) |
         // The flag for moved objects alone is accepted, and never called back (8, 9, 10).
         ((features_ & wire::kStartMoved) != 0 ? mask::kMonitorGc : 0) |
         ((features_ & wire::kStartTransitions) != 0 ? mask::kCodeTransitions : 0);
}

void Objects::allocated(ComObject* runtime, Id object, Id type) {
  std::size_t bytes = 0;
  (void)call(runtime, info::kGetObjectSize2, object, &bytes);
  types_.add(type, bytes);
}

void Objects::moved(std::uint32_t ranges, const Id* from, const Id* to, const std::size_t* bytes) {
  std::uint64_t count = 0, sum = 0;
  for (std::uint32_t i = 0; i < ranges; ++i)
    if (from[i] != to[i]) {
      ++count;
      sum += bytes[i];
    }
  moved_ranges_.fetch_add(count, std::memory_order_relaxed);
  moved_bytes_.fetch_add(sum, std::memory_order_relaxed);
}

void Objects::write_all(ComObject* runtime, Recorder& recorder) {
  using wire::RecordKind;
  if ((features_ & wire::kStartObjects) != 0) {
    types_.each([&](Id type, std::uint64_t count, std::uint64_t bytes) {
      put(recorder, RecordKind::kObjectsAllocated, count, bytes,
          type_slot(runtime, recorder, type));
    });
    if (const auto rest = types_.uncounted(); rest > 0)
      put(recorder, RecordKind::kObjectsAllocated, rest, 0, wire::kNoName);
  }
  if ((features_ & wire::kStartMoved) != 0)
    put(recorder, RecordKind::kObjectsMoved, moved_ranges_.load(std::memory_order_relaxed),
        moved_bytes_.load(std::memory_order_relaxed), wire::kNoName);
  if ((features_ & wire::kStartTransitions) == 0) return;
  const auto methods = [&](const TypeCounts& counts, RecordKind kind) {
    counts.each([&](Id function, std::uint64_t count, std::uint64_t) {
      put(recorder, kind, count, 0, method_slot(runtime, recorder, function));
    });
  };
  methods(out_, RecordKind::kCallsToNative);
  methods(in_, RecordKind::kCallsToManaged);
}

void Objects::write(ComObject* runtime, Recorder& recorder, When when) {
  if (features_ == 0) return;
  const auto now = monotonic_ns();
  if (when == When::kTick && now - last_ns_ < kBetweenNs) return;
  const Turn turn{locked_, when == When::kNow};
  if (!turn) return;
  last_ns_ = now;
  write_all(runtime, recorder);
}

void Objects::on_unload(ComObject* runtime, Recorder& recorder, Id owner) {
  if (features_ == 0) return;
  const Turn turn{locked_, true};
  if (!turn) return;
  write_all(runtime, recorder);
  const auto owned = [&](Id id) { return recorder.owner_of(id) == owner; };
  if ((features_ & wire::kStartObjects) != 0) types_.forget(owned);
  if ((features_ & wire::kStartTransitions) == 0) return;
  out_.forget(owned);
  in_.forget(owned);
}

}  // namespace clrscope::agent
