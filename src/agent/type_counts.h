// Objects by type, counted without a lock in a table of fixed size.
//
// Any thread may count. An object whose type finds no place is counted as such.
#pragma once

#include <atomic>

#include "agent/clr_abi.h"
#include "agent/syscalls.h"

namespace clrscope::agent {

class TypeCounts {
 public:
  static constexpr std::uint32_t kMostTypes = 1 << 16;
  struct Entry {
    std::atomic<Id> type;
    std::atomic<std::uint64_t> count;
    std::atomic<std::uint64_t> bytes;
  };

  constexpr TypeCounts() = default;

  // False: there is no memory.
  bool open() {
    if (!entries_) entries_ = static_cast<Entry*>(map_memory(sizeof(Entry) * kMostTypes));
    return entries_ != nullptr;
  }
  void clear() {
    uncounted_.store(0, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < kMostTypes; ++i) {
      auto& entry = entries_[i];
      if (entry.type.load(std::memory_order_relaxed) == 0) continue;
      entry.count.store(0, std::memory_order_relaxed);
      entry.bytes.store(0, std::memory_order_relaxed);
      entry.type.store(0, std::memory_order_release);
    }
  }
  // The runtime tells sizes without the bytes behind an object that keep the next one aligned.
  void add(Id type, std::uint64_t bytes) {
    bytes = (bytes + 7) & ~std::uint64_t{7};
    if (auto* entry = find(type)) {
      entry->count.fetch_add(1, std::memory_order_relaxed);
      entry->bytes.fetch_add(bytes, std::memory_order_relaxed);
    } else {
      uncounted_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::uint64_t uncounted() const { return uncounted_.load(std::memory_order_relaxed); }

  // Types for which is(type) is true are not told any more; their places stay taken.
  template <class Is>
  void forget(Is&& is) {
    for (std::uint32_t i = 0; i < kMostTypes; ++i)
      if (const auto type = entries_[i].type.load(std::memory_order_acquire);
          type > kForgotten && is(type))
        entries_[i].type.store(kForgotten, std::memory_order_release);
  }

  // Calls take(type, count, bytes) for each type.
  template <class Take>
  void each(Take&& take) const {
    for (std::uint32_t i = 0; i < kMostTypes; ++i)
      if (const auto type = entries_[i].type.load(std::memory_order_acquire); type > kForgotten)
        take(type, entries_[i].count.load(std::memory_order_relaxed),
             entries_[i].bytes.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::uint32_t kProbes = 256;
  static constexpr Id kForgotten = 1;

  Entry* find(Id type) {
    const auto start = static_cast<std::uint32_t>((type >> 3) * 0x9e37'79b9'7f4a'7c15ULL >> 40);
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      auto& entry = entries_[(start + i) % kMostTypes];
      auto found = entry.type.load(std::memory_order_acquire);
      if (found == 0 && entry.type.compare_exchange_strong(found, type, std::memory_order_acq_rel))
        return &entry;
      if (found == type) return &entry;
    }
    return nullptr;
  }

  Entry* entries_ = nullptr;  // stays: mapped once
  std::atomic<std::uint64_t> uncounted_{0};
};

}  // namespace clrscope::agent
