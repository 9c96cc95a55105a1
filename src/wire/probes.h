// The memory that the agent and clrscope share for method probes: what to instrument, the methods,
// and their counters.
//
// A sealed memfd of its own, passed with the reply to kProbesOpen. clrscope writes the order, the
// agent everything else; neither trusts what it reads. Pages are used only when they are written.
// Compiles freestanding. Layout: docs/formats/agent.md
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace clrscope::wire {

constexpr std::uint64_t kProbesMagic = 0x3142'4f52'504c'4331;
constexpr std::uint32_t kProbeMethods = 1 << 16;   // that a pattern may match
constexpr std::uint32_t kProbeCounters = 1 << 14;  // methods that are called
constexpr std::uint32_t kProbeSlabs = 64;          // the last one is shared by all further threads
constexpr std::uint32_t kProbeTextBytes = 8 << 20;
constexpr std::uint32_t kPatternBytes = 8 << 10;
constexpr std::uint32_t kNoCounter = 0xffff'ffff;

enum class ProbeState : std::uint32_t {
  kNone = 0,
  kRequested = 1,     // will be instrumented when it is next called
  kInstrumented = 2,  // has its probes
  kRefused = 3,       // see the reason
  kReverted = 4,      // had its probes
};

struct ProbeMethod {
  std::uint32_t name_offset;
  std::uint32_t name_size;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> reason;  // il::Reason
  std::atomic<std::int32_t> hresult;
  std::atomic<std::uint32_t> counter;
  std::uint32_t il_bytes;
  std::uint32_t reserved;
};

// Of one method on one thread; one writer but for the shared slab. Times are ticks.
struct ProbeCounter {
  std::atomic<std::uint64_t> enters;
  std::atomic<std::uint64_t> leaves;
  std::atomic<std::uint64_t> total;
  std::atomic<std::uint64_t> self;  // without the time in other instrumented methods
  std::atomic<std::uint64_t> longest;
  std::atomic<std::uint64_t> shortest;  // inverted, so that 0 is "none yet"
};

enum ProbeOrderFlags : std::uint32_t {
  kWithAccessors = 1,
  kClosed = 2,       // put the probes in, and count nothing
  kForRequests = 4,  // spans of sampled requests instead of counters: see wire/requests.h
};

// What clrscope wants.
struct ProbeOrder {
  std::uint32_t flags;
  std::uint32_t smallest_il;  // bytes of code
  std::uint32_t share_ppm;    // of one processor that the probes of one method may cost; 0: any
  std::uint32_t pattern_bytes;
  char patterns[kPatternBytes];  // lines: '+' or '-', then the pattern
};

enum class ProbeProgress : std::uint32_t { kIdle = 0, kWorking = 1, kApplied = 2, kFailed = 3 };

struct ProbesHeader {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t bytes;
  std::atomic<std::uint32_t> progress;
  std::atomic<std::int32_t> hresult;           // of a failure
  std::atomic<std::uint32_t> methods;          // entries in use
  std::atomic<std::uint32_t> counters;         // in use
  std::atomic<std::uint32_t> modules;          // that were examined
  std::atomic<std::uint32_t> skipped_modules;  // that can be unloaded, or are made at run time
  std::atomic<std::uint32_t> skipped_trivial;
  std::atomic<std::uint32_t> skipped_small;
  std::atomic<std::uint32_t> threads;      // that ran a probe
  std::atomic<std::uint32_t> inliners;     // other methods that were compiled again
  std::atomic<std::uint64_t> not_counted;  // calls on threads beyond the most that are known
};

struct Probes {
  alignas(64) ProbesHeader header;
  alignas(64) ProbeOrder order;
  alignas(64) ProbeMethod methods[kProbeMethods];
  alignas(64) ProbeCounter counters[kProbeSlabs][kProbeCounters];
  char text[kProbeTextBytes];
};
constexpr std::uint32_t kProbesBytes = sizeof(Probes);
static_assert(sizeof(ProbeMethod) == 32 && sizeof(ProbeCounter) == 48);

inline bool is_probes(const void* memory, std::uint64_t bytes, std::uint32_t protocol) {
  const auto& header = static_cast<const Probes*>(memory)->header;
  return bytes == kProbesBytes && header.magic == kProbesMagic && header.protocol == protocol &&
         header.bytes == kProbesBytes;
}

}  // namespace clrscope::wire
