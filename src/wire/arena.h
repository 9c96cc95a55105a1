// The memory that the agent and clrscope share: rings of records, names, counters.
//
// One sealed memfd of a fixed layout: both sides are built with the same constants, or the version
// in the header differs and neither reads further. Nothing in it is trusted by either side: the
// agent keeps its own write positions, and clrscope checks every position and size it reads.
// Compiles freestanding: the agent has no C++ library. Layout: docs/formats/agent.md
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/happenings.h"

namespace clrscope::wire {

constexpr std::uint64_t kArenaMagic = 0x31414752'4352'4c43;  // "CLRCRGA1"
constexpr std::uint16_t kProtocol = 2;

constexpr std::uint32_t kRings = 32;
constexpr std::uint32_t kRingBytes = 128 << 10;
constexpr std::uint32_t kNameSlots = 1 << 15;
constexpr std::uint32_t kTextBytes = 4 << 20;
constexpr std::uint32_t kNoName = 0xffff'ffff;  // a method or type without a slot

// Why something is missing. The order is part of the layout.
enum class Drop : std::uint32_t {
  kRingFull,       // clrscope did not read fast enough
  kRingsBusy,      // more threads wrote at the same moment than there are rings
  kNameTableFull,  // too many methods and types
  kNameTextFull,   // the names are too long together
  kOverBudget,     // recorded without a stack or name: the callbacks took too much time
  kStackFailed,    // the runtime could not walk the stack
  kStackCut,       // deeper than a record can hold
  kObjectsFull,    // more sampled objects at a time than can be followed
  kCount
};
// What callbacks are counted for. The order is part of the layout.
enum class Spender : std::uint32_t {
  kExceptions,
  kContention,
  kAllocations,
  kSurvivors,
  kCpu,
  kRuntime,
  kCount
};
constexpr std::uint32_t kSpenders = static_cast<std::uint32_t>(Spender::kCount);
constexpr std::uint32_t kHappenings = static_cast<std::uint32_t>(Happening::kCount);
constexpr std::uint32_t kDropReasons = static_cast<std::uint32_t>(Drop::kCount);

// The processor's clock and CLOCK_MONOTONIC at one moment.
struct ClockPair {
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
};

struct ArenaHeader {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t bytes;  // of the whole arena
  ClockPair first;      // when this arena was made
  // The newest pair; it is valid when `clock_version` is even and the same before and after.
  std::atomic<std::uint32_t> clock_version;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> clock_tsc;
  std::atomic<std::uint64_t> clock_monotonic_ns;
  std::atomic<std::uint64_t> drops[kDropReasons];
  // Seen while their sources were on; never dropped.
  std::atomic<std::uint64_t> exceptions;
  std::atomic<std::uint64_t> contentions;
  std::atomic<std::uint64_t> allocations;
  std::atomic<std::uint64_t> callback_ticks;  // time spent in callbacks, on the threads of the app
  std::atomic<std::uint64_t> source_ticks[kSpenders];  // the same by source
  // CPU samples.
  std::atomic<std::uint64_t> cpu_ticks_missed;   // expirations of timers without a sample
  std::atomic<std::uint64_t> cpu_skipped;        // the thread was handling a fault
  std::atomic<std::uint64_t> cpu_unarmed;        // threads that could get no timer
  std::atomic<std::uint64_t> cpu_handler_taken;  // times another handler had replaced ours
  // Of the source "runtime"; never dropped.
  std::atomic<std::uint64_t> happenings[kHappenings];
};

struct Ring {
  alignas(64) std::atomic<std::uint64_t> head;  // bytes written so far; the agent writes it
  alignas(64) std::atomic<std::uint64_t> tail;  // bytes read so far; clrscope writes it
  alignas(64) std::uint8_t bytes[kRingBytes];
};

// A name is there when `size` is not zero; its bytes never change afterwards.
struct NameSlot {
  std::uint32_t offset;
  std::atomic<std::uint32_t> size;
};

struct Arena {
  alignas(64) ArenaHeader header;
  Ring rings[kRings];
  NameSlot names[kNameSlots];
  char text[kTextBytes];
};

constexpr std::uint32_t kArenaBytes = sizeof(Arena);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(Ring) == 128 + kRingBytes);
static_assert(sizeof(NameSlot) == 8);
static_assert(offsetof(Arena, rings) == 320);

// Whether the layout of this memory is ours; `bytes` is the size of the mapping.
bool is_arena(const void* memory, std::uint64_t bytes);

// The newest pair; false while the agent is writing one.
bool read_clock(const ArenaHeader& header, ClockPair& out);

// A copy of a name, at most `capacity` bytes. Returns its size; 0: not there.
std::uint32_t copy_name(const Arena& arena, std::uint32_t slot, char* out, std::uint32_t capacity);

}  // namespace clrscope::wire
