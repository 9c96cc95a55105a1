#include "wire/arena.h"

namespace clrscope::wire {

bool is_arena(const void* memory, std::uint64_t bytes) {
  if (bytes != kArenaBytes) return false;
  const auto& header = static_cast<const Arena*>(memory)->header;
  return header.magic == kArenaMagic && header.protocol == kProtocol && header.bytes == kArenaBytes;
}

bool read_clock(const ArenaHeader& header, ClockPair& out) {
  const auto before = header.clock_version.load(std::memory_order_acquire);
  const ClockPair pair{header.clock_tsc.load(std::memory_order_acquire),
                       header.clock_monotonic_ns.load(std::memory_order_acquire)};
  const auto after = header.clock_version.load(std::memory_order_acquire);
  if (before != after || before % 2 != 0) return false;
  out = pair;
  return true;
}

std::uint32_t copy_name(const Arena& arena, std::uint32_t slot, char* out, std::uint32_t capacity) {
  if (slot >= kNameSlots) return 0;
  const auto& name = arena.names[slot];
  auto size = name.size.load(std::memory_order_acquire);
  const auto offset = name.offset;
  if (offset >= kTextBytes || size > kTextBytes - offset) return 0;
  if (size > capacity) size = capacity;
  const auto* text = &arena.text[offset];
  for (std::uint32_t i = 0; i < size; ++i) out[i] = text[i];
  return size;
}

}  // namespace clrscope::wire
