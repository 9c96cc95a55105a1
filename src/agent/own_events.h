// The agent's own events, for every EventPipe tool: the provider "Clrscope-Agent".
//
//   1 ExceptionCaught   (keyword 1)  Number, Type, Method, DurationNs
//   2 ObjectsSurvived   (keyword 2)  Collection, Generation, Died, SurvivedFirst, SurvivedSecond
//   3 SnapshotTaken     (keyword 4)  Number, Threads, Failed, PauseNs
//
// Written where the source of the same name is on and a session has the provider enabled; else a
// write is one load. The runtime has no call that removes a provider: it is made once, stays for
// the life of the process, and is silent while the agent is not loaded. create() belongs to an
// event thread; the others may be called on any thread.
#pragma once

#include <atomic>

#include "agent/recorder.h"

namespace clrscope::agent {

struct CaughtException {
  std::uint64_t number;
  std::uint32_t type;    // name slots
  std::uint32_t method;  // that caught it
  std::uint64_t ticks;   // from throw to catch
};

struct SurvivorCounts {
  std::uint64_t collection;
  std::uint32_t generation;
  std::uint32_t died;
  std::uint32_t survived_first;
  std::uint32_t survived_second;
};

struct TakenSnapshot {
  std::uint64_t number;
  std::uint32_t threads;
  std::uint32_t failed;
  std::uint64_t pause_ticks;
};

class OwnEvents {
 public:
  enum Keyword : std::uint64_t { kExceptions = 1, kSurvivors = 2, kSnapshots = 4 };

  constexpr OwnEvents() = default;

  // Makes the provider, once. If the runtime refuses, there are no events; all else works.
  HResult create(ComObject* runtime);
  bool tried() const { return tried_.load(std::memory_order_acquire); }
  bool wants(Keyword keyword) const {
    return (enabled_.load(std::memory_order_relaxed) & keyword) != 0;
  }

  void write(ComObject* runtime, Recorder& recorder, const CaughtException& caught) const;
  void write(ComObject* runtime, const SurvivorCounts& counts) const;
  void write(ComObject* runtime, const TakenSnapshot& snapshot) const;

 private:
  static void on_enable(const std::uint8_t* source, std::uint32_t is_enabled, std::uint8_t level,
                        std::uint64_t any_keywords, std::uint64_t all_keywords, void* filter,
                        void* data);
  std::uint64_t ns_of(std::uint64_t ticks) const;

  // Keywords, of all sessions together. The runtime tells a function, not an object.
  static inline constinit std::atomic<std::uint64_t> enabled_{0};
  std::uintptr_t provider_ = 0;
  std::uintptr_t events_[3]{};
  std::atomic<bool> tried_{false};
  std::atomic<bool> ready_{false};
  wire::ClockPair born_{};  // to turn ticks into time
};

}  // namespace clrscope::agent
