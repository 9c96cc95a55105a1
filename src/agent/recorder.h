// Writes records, names and counters into the arena. Any thread may call it; no call waits.
//
// The arena is made once and stays while the process lives, since a callback may be writing into it
// at any moment. A name is found by the runtime's id of a method or type; the runtime may give an
// id to another method after it has unloaded the first, so ids are forgotten when it unloads.
// Knows nothing of the runtime: tests drive it without one.
#pragma once

#include "agent/clr_abi.h"
#include "wire/ring.h"

namespace clrscope::agent {

class Recorder {
 public:
  constexpr Recorder() = default;

  // Makes the arena; true when it is there, also from an earlier time.
  bool open();
  int fd() const { return fd_; }
  wire::Arena* arena() { return arena_; }

  // For a new listener: forgets all names and counters. False while a callback is running.
  bool reset();

  // Around everything that happens in a callback.
  void enter() { running_.fetch_add(1, std::memory_order_acq_rel); }
  void leave(std::uint64_t ticks, wire::Spender source);
  bool idle() const { return running_.load(std::memory_order_acquire) == 0; }

  void count(wire::Drop reason) {
    arena_->header.drops[static_cast<unsigned>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  void count_contention() { arena_->header.contentions.fetch_add(1, std::memory_order_relaxed); }
  void count_allocation() { arena_->header.allocations.fetch_add(1, std::memory_order_relaxed); }
  void count(wire::Happening what, std::uint64_t by = 1) {
    arena_->header.happenings[static_cast<unsigned>(what)].fetch_add(by, std::memory_order_relaxed);
  }
  std::uint64_t next_exception() {
    return arena_->header.exceptions.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // True while the callbacks of this moment have taken more time than they may.
  bool over_budget() const { return spent_.load(std::memory_order_relaxed) > budget_; }
  // Ten times a second while somebody listens: the clock, and the budget for the next tenth.
  void tick(std::uint64_t tsc, std::uint64_t monotonic_ns);

  // The slot of a name; `is_new`: the caller must set it. kNoName: the table is full.
  std::uint32_t slot_of(Id id, bool& is_new);
  // `owner`: the module, or the method itself when it is a dynamic one.
  void set_name(std::uint32_t slot, Id owner, const char* text, std::uint32_t size);
  // Of a name that was set; 0: unknown.
  Id owner_of(Id id) const;
  // The runtime is about to unload this module or dynamic method.
  void forget(Id owner);

  // Fills and commits one record of type Fixed; `fixed.header` needs no size. False: dropped.
  template <class Fixed>
  bool write(const Fixed& fixed, const std::uint32_t* frames = nullptr, std::uint32_t count = 0) {
    return write_bytes(&fixed, sizeof(Fixed), wire::record_bytes<Fixed>(count), frames, count);
  }
  // Calls fill(memory) for one large record of `bytes`, a multiple of 8. Takes any ring that has
  // room, the one of `thread` first. False: dropped.
  template <class Fill>
  bool fill_record(std::uint32_t thread, std::uint32_t bytes, Fill&& fill) {
    bool full = false;
    for (std::uint32_t i = 0; i < wire::kRings; ++i) {
      auto& ring = rings_[(thread + i) % wire::kRings];
      if (!ring.try_claim()) continue;
      auto* at = ring.reserve(bytes);
      if (at) {
        fill(at);
        ring.commit(bytes);
      }
      ring.release();
      if (at) return true;
      full = true;
    }
    count(full ? wire::Drop::kRingFull : wire::Drop::kRingsBusy);
    return false;
  }

 private:
  struct Key {
    std::atomic<Id> id;
    std::atomic<Id> owner;
  };
  bool write_bytes(const void* fixed, std::uint32_t fixed_bytes, std::uint32_t bytes,
                   const std::uint32_t* frames, std::uint32_t count);

  wire::Arena* arena_ = nullptr;
  Key* keys_ = nullptr;
  int fd_ = -1;
  wire::RingWriter rings_[wire::kRings]{};
  std::atomic<std::uint32_t> text_used_{0};
  std::atomic<std::uint32_t> running_{0};
  std::atomic<std::uint64_t> spent_{0};
  std::atomic<std::uint64_t> budget_{~std::uint64_t{0}};
  wire::ClockPair last_{};
};

}  // namespace clrscope::agent
