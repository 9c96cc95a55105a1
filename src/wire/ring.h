// Writing and reading one ring.
//
// One writer at a time, one reader, neither waits. The writer's position is its own: what stands in
// the shared memory is only told to the reader. The reader copies a record before it looks at it,
// since the memory belongs to a process that may be hostile. Compiles freestanding.
#pragma once

#include "wire/arena.h"
#include "wire/records.h"

namespace clrscope::wire {

static_assert((kRingBytes & (kRingBytes - 1)) == 0);

class RingWriter {
 public:
  constexpr RingWriter() = default;

  // Goes on where the ring stands; called once, before the first record.
  void open(Ring* ring) {
    ring_ = ring;
    head_ = ring->head.load(std::memory_order_relaxed) & ~std::uint64_t{7};
  }

  // True when this caller alone may write, until release().
  bool try_claim() {
    return !busy_.load(std::memory_order_relaxed) &&
           !busy_.exchange(true, std::memory_order_acquire);
  }
  void release() { busy_.store(false, std::memory_order_release); }

  // Room for `bytes`, a multiple of 8 of at most kLargestRecord; null: the ring is full.
  void* reserve(std::uint32_t bytes) {
    const auto used = head_ - ring_->tail.load(std::memory_order_acquire);
    if (used > kRingBytes) return nullptr;  // also a reader's position that cannot be
    const auto at = static_cast<std::uint32_t>(head_ & (kRingBytes - 1));
    const auto to_end = kRingBytes - at;
    const auto pad = bytes > to_end ? to_end : 0;
    if (used + pad + bytes > kRingBytes) return nullptr;
    if (pad != 0) {
      auto* filler = reinterpret_cast<RecordHeader*>(&ring_->bytes[at]);
      filler->kind = RecordKind::kPad;
      filler->bytes = static_cast<std::uint16_t>(pad);
      head_ += pad;
    }
    return &ring_->bytes[head_ & (kRingBytes - 1)];
  }
  // The record that was reserved last is whole.
  void commit(std::uint32_t bytes) {
    head_ += bytes;
    ring_->head.store(head_, std::memory_order_release);
  }

 private:
  Ring* ring_ = nullptr;
  std::uint64_t head_ = 0;
  std::atomic<bool> busy_{false};
};

class RingReader {
 public:
  // Begins behind what is already there.
  explicit RingReader(Ring& ring)
      : ring_(&ring), tail_(ring.head.load(std::memory_order_acquire) & ~std::uint64_t{7}) {
    ring_->tail.store(tail_, std::memory_order_release);
  }

  // Calls take(bytes, size) with a copy of each whole record; the copy is aligned to 8.
  template <class Take>
  void drain(Take&& take) {
    const auto head = ring_->head.load(std::memory_order_acquire);
    if (head - tail_ > kRingBytes || head % 8 != 0) return skip_damage(head);
    if (head == tail_) return;
    alignas(8) std::uint8_t copy[kLargestRecord]{};
    while (tail_ != head) {
      const auto at = static_cast<std::uint32_t>(tail_ & (kRingBytes - 1));
      const auto header = reinterpret_cast<const volatile std::uint16_t*>(&ring_->bytes[at]);
      const auto kind = static_cast<RecordKind>(header[0]);
      const std::uint32_t bytes = header[1];
      if (bytes < kSmallestRecord || bytes % 8 != 0 || bytes > kLargestRecord ||
          bytes > kRingBytes - at || bytes > head - tail_)
        return skip_damage(head);
      if (kind != RecordKind::kPad) {
        const auto* words = reinterpret_cast<const volatile std::uint64_t*>(&ring_->bytes[at]);
        for (std::uint32_t i = 0; i < bytes / 8; ++i)
          reinterpret_cast<std::uint64_t*>(copy)[i] = words[i];
        take(static_cast<const void*>(copy), bytes);
      }
      tail_ += bytes;
    }
    ring_->tail.store(tail_, std::memory_order_release);
  }

  std::uint64_t damaged() const { return damaged_; }  // times the rest of the ring was skipped

 private:
  void skip_damage(std::uint64_t head) {
    ++damaged_;
    tail_ = head & ~std::uint64_t{7};
    ring_->tail.store(tail_, std::memory_order_release);
  }

  Ring* ring_;
  std::uint64_t tail_;
  std::uint64_t damaged_ = 0;
};

}  // namespace clrscope::wire
