#include "inspect/heap/object_index.h"

#include <algorithm>

namespace clrscope::inspect {

ObjectIndex::ObjectIndex(std::span<const HeapSegment> segments,
                         std::span<const std::uint64_t> objects) {
  std::uint64_t words = 0;
  std::size_t next = 0;
  std::uint64_t until = 0;
  for (const auto& segment : segments) {
    if (segment.objects == 0) continue;
    // What has no objects needs no bits: a damaged segment may claim to be very long.
    const auto first = objects[next];
    next += segment.objects;
    until = objects[next - 1] + 8;
    parts_.push_back({first, until, words});
    words += ((until - first) / 8 + 63) / 64;
  }
  words_.resize(words);
  next = 0;
  std::size_t in_part = 0;
  for (const auto address : objects) {
    while (address >= parts_[in_part].end) ++in_part;
    const auto bit = (address - parts_[in_part].start) / 8;
    words_[parts_[in_part].first_word + bit / 64].bits |= std::uint64_t{1} << bit % 64;
  }
  std::uint32_t before = 0;
  for (auto& word : words_) {
    word.before = before;
    before += static_cast<std::uint32_t>(std::popcount(word.bits));
  }
}

const ObjectIndex::Part* ObjectIndex::part_of(std::uint64_t address) const {
  if (last_ && address >= last_->start && address < last_->end) return last_;
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::start);
  if (after == parts_.begin()) return nullptr;
  const auto& part = *std::prev(after);
  if (address >= part.end) return nullptr;
  return last_ = &part;
}

}  // namespace clrscope::inspect
