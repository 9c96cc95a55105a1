// The records in the rings: fixed parts of 8-byte multiples, some followed by frames or bytes.
//
// A frame is the name slot of a method, innermost first. Times are ticks of the processor's clock.
// parse_*() take bytes that nobody has checked. Compiles freestanding.
#pragma once

#include <cstdint>

namespace clrscope::wire {

enum class RecordKind : std::uint16_t {
  kPad = 0,  // fills the end of a ring
  kExceptionThrown = 1,
  kExceptionCaught = 2,
  kThreadStack = 3,
  kSnapshotEnd = 4,
  kContention = 5,
  kAllocation = 6,
  kCpuSample = 16,
  kSampledObject = 32,
  kObjectsSeen = 33,
  // wire/happenings.h
  kGcStarted = 64,
  kSuspension = 65,
  kThreadStarted = 66,
  kThreadEnded = 67,
  kThreadNamed = 68,
  kModuleLoaded = 69,
  kMethodCompiled = 70,
  // wire/heap.h
  kHeapType = 80,
  kHeapEdge = 81,
  kHeapEnd = 82,
  kObjectsAllocated = 83,  // the next four are a HeapType each, with totals since the start
  kObjectsMoved = 84,
  kCallsToNative = 85,
  kCallsToManaged = 86,
  // wire/requests.h
  kRequestBegin = 96,
  kRequestEnd = 97,
  kSpan = 98,
  kFlow = 99,
  kQueued = 100,
};

constexpr std::uint32_t kMostFrames = 256;
constexpr std::uint32_t kSmallestRecord = 8;  // a pad
constexpr std::uint32_t kRegisters = 17;
constexpr std::uint32_t kMostStackBytes = 32 << 10;

struct RecordHeader {
  RecordKind kind;
  std::uint16_t bytes;   // of the whole record
  std::uint32_t thread;  // OS thread id in the process' pid namespace
  std::uint64_t time;
};

struct ExceptionThrown {
  RecordHeader header;
  std::uint64_t number;  // pairs it with ExceptionCaught; from 1
  std::uint32_t type;    // name slot
  std::uint32_t frames;
};

struct ExceptionCaught {
  RecordHeader header;
  std::uint64_t number;
  std::uint64_t ticks;   // from the throw to the catch block
  std::uint32_t method;  // the one that caught it
  std::uint32_t reserved;
};

struct ThreadStack {
  RecordHeader header;
  std::uint64_t snapshot;  // number of the snapshot
  std::uint32_t managed;   // managed thread number in this snapshot
  std::uint32_t frames;
};

struct SnapshotEnd {
  RecordHeader header;
  std::uint64_t snapshot;
  std::uint64_t pause_ticks;  // from the request to suspend to the end of the resume
  std::uint32_t threads;      // with a stack
  std::uint32_t failed;       // threads whose stack could not be walked
};

// A thread waited for a lock that another one had; the stack is of the beginning of the wait.
struct Contention {
  RecordHeader header;
  std::uint64_t wait_ns;
  std::uint64_t lock;   // id of the lock; 0: unknown
  std::uint32_t owner;  // OS thread id of the one that had it; 0: unknown
  std::uint32_t frames;
};

// One of many allocations: the runtime chooses.
struct Allocation {
  RecordHeader header;
  std::uint64_t size;        // of this object
  std::uint64_t represents;  // bytes allocated since the last one (.NET 8, 9); 0: chosen at random
  std::uint32_t type;
  std::uint32_t frames;
};

// An allocation whose object the agent follows through the next collections.
struct SampledObject {
  RecordHeader header;
  std::uint64_t size;
  std::uint64_t represents;  // as in Allocation
  std::uint32_t number;      // pairs it with ObjectsSeen; from 1
  std::uint32_t type;
  std::uint32_t reserved;
  std::uint32_t frames;
};

// What became of objects in one collection. The agent follows no object further than kSurvivedTwo.
enum class Fate : std::uint32_t { kDied = 0, kSurvivedOne = 1, kSurvivedTwo = 2, kUnknown = 3 };
struct ObjectsSeen {
  RecordHeader header;
  std::uint64_t collection;  // counted while the source is on; from 1
  std::uint32_t generation;  // the oldest that was collected
  Fate fate;
  std::uint32_t reserved;
  std::uint32_t frames;  // how many follow: numbers of objects, not frames
};

// What a thread executed when the timer of its CPU time fired. Behind it lie `stack_bytes` of its
// stack, from the stack pointer upwards, and bytes without a meaning up to the end of the record.
struct CpuSample {
  RecordHeader header;
  std::uint64_t monotonic_ns;  // CLOCK_MONOTONIC
  std::uint64_t weight_ns;     // CPU time of the thread since its last sample
  std::uint32_t missed;        // times the timer expired since then without a sample
  std::uint32_t stack_bytes;
  std::uint32_t processor;
  std::uint32_t reserved;
  // rax rbx rcx rdx rsi rdi rbp rsp rip r8 … r15
  std::uint64_t registers[kRegisters];
};

constexpr std::uint32_t kLargestRecord = sizeof(CpuSample) + kMostStackBytes;
static_assert(sizeof(RecordHeader) == 16 && sizeof(ExceptionThrown) == 32 &&
              sizeof(ExceptionCaught) == 40 && sizeof(ThreadStack) == 32 &&
              sizeof(SampledObject) == 48 && sizeof(ObjectsSeen) == 40 &&
              sizeof(SnapshotEnd) == 40 && sizeof(Contention) == 40 && sizeof(Allocation) == 40 &&
              sizeof(CpuSample) == 184 && sizeof(Contention) + kMostFrames * 4 <= kLargestRecord &&
              kLargestRecord % 8 == 0);

// Bytes of a record of type Fixed with this many frames.
template <class Fixed>
constexpr std::uint32_t record_bytes(std::uint32_t frames) {
  return (static_cast<std::uint32_t>(sizeof(Fixed)) + frames * 4 + 7) & ~7U;
}

// The fixed part of a record of `size` bytes at `bytes`, which is aligned to 8; null when it does
// not have the size that its kind and its frames need.
template <class Fixed>
const Fixed* parse_record(RecordKind kind, const void* bytes, std::uint32_t size) {
  if (size < sizeof(Fixed)) return nullptr;
  const auto* record = static_cast<const Fixed*>(bytes);
  if (record->header.kind != kind || record->header.bytes != size) return nullptr;
  std::uint32_t frames = 0;
  if constexpr (requires { record->frames; }) frames = record->frames;
  if (frames > kMostFrames || size != record_bytes<Fixed>(frames)) return nullptr;
  return record;
}

// Null unless the copied stack lies inside the record.
inline const CpuSample* parse_cpu_sample(const void* bytes, std::uint32_t size) {
  if (size < sizeof(CpuSample)) return nullptr;
  const auto* sample = static_cast<const CpuSample*>(bytes);
  return sample->header.kind == RecordKind::kCpuSample && sample->header.bytes == size &&
                 sample->stack_bytes <= size - sizeof(CpuSample)
             ? sample
             : nullptr;
}

template <class Fixed>
const std::uint32_t* frames_of(const Fixed* record) {
  return reinterpret_cast<const std::uint32_t*>(record + 1);
}

}  // namespace clrscope::wire
