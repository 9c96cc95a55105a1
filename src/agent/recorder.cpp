#include "agent/recorder.h"

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr Id kForgotten = 1;           // an id that no method has
constexpr std::uint32_t kProbes = 64;  // places that are tried for a name
// Of each tenth of a second, on all threads together: a tenth of one processor.
constexpr std::uint64_t kBudgetNs = 10'000'000;
constexpr long kCloseOnExec = 1, kAllowSealing = 2;
constexpr long kAddSeals = 1033, kSealShrinkGrow = 2 | 4 | 1;  // and no further seals

std::uint32_t place_of(Id id) {
  return static_cast<std::uint32_t>((id * 0x9e37'79b9'7f4a'7c15ULL) >> 49) % wire::kNameSlots;
}

}  // namespace

bool Recorder::open() {
  if (arena_) return true;
  const auto fd = static_cast<int>(
      syscall_raw(number::kMemfdCreate, as_long("clrscope-agent"), kCloseOnExec | kAllowSealing));
  if (fd < 0) return false;
  fd_ = fd;
  if (syscall_raw(number::kFtruncate, fd_, wire::kArenaBytes) != 0 ||
      syscall_raw(number::kFcntl, fd_, kAddSeals, kSealShrinkGrow) != 0) {
    close_fd(fd_);
    return false;
  }
  auto* arena = static_cast<wire::Arena*>(map_memory(wire::kArenaBytes, fd_));
  auto* keys = static_cast<Key*>(map_memory(sizeof(Key) * wire::kNameSlots));
  if (!arena || !keys) {
    if (arena) syscall_raw(number::kMunmap, as_long(arena), wire::kArenaBytes);
    if (keys) syscall_raw(number::kMunmap, as_long(keys), sizeof(Key) * wire::kNameSlots);
    close_fd(fd_);
    return false;
  }
  arena->header.magic = wire::kArenaMagic;
  arena->header.protocol = wire::kProtocol;
  arena->header.bytes = wire::kArenaBytes;
  arena->header.first = {read_tsc(), monotonic_ns()};
  for (std::uint32_t i = 0; i < wire::kRings; ++i) rings_[i].open(&arena->rings[i]);
  keys_ = keys;
  arena_ = arena;
  tick(read_tsc(), monotonic_ns());
  return true;
}

bool Recorder::reset() {
  if (!idle()) return false;
  for (std::uint32_t i = 0; i < wire::kNameSlots; ++i) {
    if (keys_[i].id.load(std::memory_order_relaxed) == 0) continue;
    keys_[i].id.store(0, std::memory_order_relaxed);
    keys_[i].owner.store(0, std::memory_order_relaxed);
    arena_->names[i].size.store(0, std::memory_order_release);
  }
  text_used_.store(0, std::memory_order_relaxed);
  auto& header = arena_->header;
  for (auto& drop : header.drops) drop.store(0, std::memory_order_relaxed);
  header.exceptions.store(0, std::memory_order_relaxed);
  header.contentions.store(0, std::memory_order_relaxed);
  header.allocations.store(0, std::memory_order_relaxed);
  header.callback_ticks.store(0, std::memory_order_relaxed);
  header.cpu_ticks_missed.store(0, std::memory_order_relaxed);
  header.cpu_skipped.store(0, std::memory_order_relaxed);
  header.cpu_unarmed.store(0, std::memory_order_relaxed);
  header.cpu_handler_taken.store(0, std::memory_order_relaxed);
  for (auto& one : header.happenings) one.store(0, std::memory_order_relaxed);
  for (auto& ticks : header.source_ticks) ticks.store(0, std::memory_order_relaxed);
  return true;
}

void Recorder::leave(std::uint64_t ticks, wire::Spender source) {
  spent_.fetch_add(ticks, std::memory_order_relaxed);
  arena_->header.callback_ticks.fetch_add(ticks, std::memory_order_relaxed);
  arena_->header.source_ticks[static_cast<unsigned>(source)].fetch_add(ticks,
                                                                       std::memory_order_relaxed);
  running_.fetch_sub(1, std::memory_order_acq_rel);
}

void Recorder::tick(std::uint64_t tsc, std::uint64_t monotonic_ns) {
  auto& header = arena_->header;
  const auto version = header.clock_version.load(std::memory_order_relaxed) | 1;
  header.clock_version.store(version, std::memory_order_release);
  header.clock_tsc.store(tsc, std::memory_order_release);
  header.clock_monotonic_ns.store(monotonic_ns, std::memory_order_release);
  header.clock_version.store(version + 1, std::memory_order_release);
  if (last_.tsc != 0 && tsc > last_.tsc && monotonic_ns > last_.monotonic_ns) {
    auto ticks = tsc - last_.tsc, ns = monotonic_ns - last_.monotonic_ns;
    for (; ticks >> 38 != 0 && ns > 1; ns >>= 1) ticks >>= 1;  // or the product would not fit
    budget_ = ticks * kBudgetNs / ns;
  }
  last_ = {tsc, monotonic_ns};
  spent_.store(0, std::memory_order_relaxed);
}

std::uint32_t Recorder::slot_of(Id id, bool& is_new) {
  is_new = false;
  const auto start = place_of(id);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    const auto at = (start + i) % wire::kNameSlots;
    auto found = keys_[at].id.load(std::memory_order_acquire);
    if (found == 0 && keys_[at].id.compare_exchange_strong(found, id, std::memory_order_acq_rel)) {
      is_new = true;
      return at;
    }
    if (found == id) return at;
  }
  count(wire::Drop::kNameTableFull);
  return wire::kNoName;
}

void Recorder::set_name(std::uint32_t slot, Id owner, const char* text, std::uint32_t size) {
  keys_[slot].owner.store(owner, std::memory_order_release);
  if (size == 0 || size > wire::kTextBytes) return;
  const auto at = text_used_.fetch_add(size, std::memory_order_relaxed);
  if (at > wire::kTextBytes - size) {
    text_used_.store(wire::kTextBytes, std::memory_order_relaxed);
    return count(wire::Drop::kNameTextFull);
  }
  for (std::uint32_t i = 0; i < size; ++i) arena_->text[at + i] = text[i];
  arena_->names[slot].offset = at;
  arena_->names[slot].size.store(size, std::memory_order_release);
}

Id Recorder::owner_of(Id id) const {
  const auto start = place_of(id);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    const auto& key = keys_[(start + i) % wire::kNameSlots];
    const auto found = key.id.load(std::memory_order_acquire);
    if (found == id) return key.owner.load(std::memory_order_acquire);
    if (found == 0) return 0;
  }
  return 0;
}

void Recorder::forget(Id owner) {
  if (owner == 0) return;
  for (std::uint32_t i = 0; i < wire::kNameSlots; ++i)
    if (keys_[i].owner.load(std::memory_order_acquire) == owner)
      keys_[i].id.store(kForgotten, std::memory_order_release);
}

bool Recorder::write_bytes(const void* fixed, std::uint32_t fixed_bytes, std::uint32_t bytes,
                           const std::uint32_t* frames, std::uint32_t count_frames) {
  const auto first = static_cast<const wire::RecordHeader*>(fixed)->thread;
  for (std::uint32_t i = 0; i < wire::kRings; ++i) {
    auto& ring = rings_[(first + i) % wire::kRings];
    if (!ring.try_claim()) continue;
    auto* at = static_cast<std::uint8_t*>(ring.reserve(bytes));
    if (at) {
      __builtin_memcpy(at, fixed, fixed_bytes);
      reinterpret_cast<wire::RecordHeader*>(at)->bytes = static_cast<std::uint16_t>(bytes);
      auto* to = reinterpret_cast<std::uint32_t*>(at + fixed_bytes);
      for (std::uint32_t frame = 0; frame < count_frames; ++frame) to[frame] = frames[frame];
      if (fixed_bytes + count_frames * 4 < bytes) to[count_frames] = 0;
      ring.commit(bytes);
    } else {
      count(wire::Drop::kRingFull);
    }
    ring.release();
    return at != nullptr;
  }
  count(wire::Drop::kRingsBusy);
  return false;
}

}  // namespace clrscope::agent
