#include "model/intern.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace clrscope {

std::uint64_t hash_bytes(const void* data, std::size_t size) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto mix = [](std::uint64_t h) {
    h = (h ^ (h >> 32)) * kOdd;
    return h ^ (h >> 29);
  };
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t hash = size * kOdd;
  for (; size >= 8; bytes += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = mix(hash ^ word);
  }
  std::uint64_t tail = 0;
  if (size > 0) std::memcpy(&tail, bytes, size);
  return mix(hash ^ tail);
}

void HashIndex::insert(std::uint64_t hash, std::uint32_t id) {
  if (used_ * 10 >= slots_.size() * 7) grow();
  std::size_t at = hash & mask();
  while (slots_[at].id != kNone) at = (at + 1) & mask();
  slots_[at] = {hash, id};
  ++used_;
}

void HashIndex::grow() {
  const auto old =
      std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, slots_.size() * 2)));
  for (const auto& slot : old) {
    if (slot.id == kNone) continue;
    std::size_t at = slot.hash & mask();
    while (slots_[at].id != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }
}

StringTable::StringTable() { intern(""); }

StringId StringTable::intern(std::string_view text) {
  const auto hash = hash_bytes(text.data(), text.size());
  auto id = index_.find(hash, [&](std::uint32_t known) { return strings_[known] == text; });
  if (id == HashIndex::kNone) {
    id = static_cast<std::uint32_t>(strings_.size());
    strings_.emplace_back(text);
    index_.insert(hash, id);
  }
  return StringId{id};
}

StackTable::StackTable() { intern({}); }

StackId StackTable::intern(std::span<const std::uint64_t> frames) {
  const auto hash = hash_bytes(frames.data(), frames.size_bytes());
  auto id = index_.find(hash, [&](std::uint32_t known) {
    return std::ranges::equal(std::span{begins_[known].begin, begins_[known].count}, frames);
  });
  if (id != HashIndex::kNone) return StackId{id};
  if (frames.size() > left_in_chunk_) {
    left_in_chunk_ = std::max(kChunk, frames.size());
    chunks_.push_back(std::make_unique<std::uint64_t[]>(left_in_chunk_));
    next_ = chunks_.back().get();
  }
  std::ranges::copy(frames, next_);
  id = static_cast<std::uint32_t>(begins_.size());
  begins_.push_back({next_, static_cast<std::uint32_t>(frames.size())});
  index_.insert(hash, id);
  next_ += frames.size();
  left_in_chunk_ -= frames.size();
  return StackId{id};
}

std::span<const std::uint64_t> StackTable::frames(StackId id) const {
  const auto& place = begins_[static_cast<std::size_t>(id)];
  return {place.begin, place.count};
}

}  // namespace clrscope
