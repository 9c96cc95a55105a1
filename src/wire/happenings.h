// Records of the source "runtime": what the runtime does by itself. Compiles freestanding.
#pragma once

#include "wire/records.h"

namespace clrscope::wire {

// Counted exactly in the header of the arena. The order is part of the layout.
enum class Happening : std::uint32_t {
  kCollections,
  kSuspensions,
  kThreadsStarted,
  kThreadsEnded,
  kModulesLoaded,
  kClassesLoaded,
  kMethodsCompiled,
  kCompileTicks,  // time of the JIT compiler, in ticks
  kCount
};

struct GcStarted {
  RecordHeader header;
  std::uint32_t generation;  // the oldest that is collected
  std::uint32_t induced;     // 1: the program asked for it
};

// All managed threads were stopped. The time of the header is that of the request.
struct Suspension {
  RecordHeader header;
  std::uint64_t ticks;       // until all threads ran again
  std::uint64_t stop_ticks;  // until all threads were stopped
  std::uint32_t reason;      // COR_PRF_SUSPEND_REASON
  std::uint32_t reserved;
};

// Threads have numbers of the runtime, which it uses again. A name is UTF-8 in place of frames.
struct ThreadChange {
  RecordHeader header;
  std::uint64_t id;
  std::uint32_t name_bytes;
  std::uint32_t frames;  // how many words follow
};

struct ModuleLoaded {
  RecordHeader header;
  std::uint32_t path_bytes;
  std::uint32_t frames;  // how many words follow: the path in UTF-8
};

struct MethodCompiled {
  RecordHeader header;
  std::uint64_t ticks;  // of the JIT compiler
  std::uint32_t method;
  std::uint32_t failed;  // 1: the compiler gave up
};

constexpr std::uint32_t kLongestText = kMostFrames * 4;
static_assert(sizeof(GcStarted) == 24 && sizeof(Suspension) == 40 && sizeof(ThreadChange) == 32 &&
              sizeof(ModuleLoaded) == 24 && sizeof(MethodCompiled) == 32);

}  // namespace clrscope::wire
