// From the address of an object to its number: a bit for each place where one may begin, and counts
// of those before. Exact: other addresses have no number.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/heap.h"

namespace clrscope::inspect {

class ObjectIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Segments in ascending order; each object lies in one of them.
  ObjectIndex(std::span<const HeapSegment> segments, std::span<const std::uint64_t> objects);

  std::uint32_t number_of(std::uint64_t address) const {
    if (address % 8 != 0) return kNone;
    const auto* const part = part_of(address);
    if (!part) return kNone;
    const auto bit = (address - part->start) / 8;
    const auto& word = words_[part->first_word + bit / 64];
    const auto mask = std::uint64_t{1} << bit % 64;
    if ((word.bits & mask) == 0) return kNone;
    return word.before + static_cast<std::uint32_t>(std::popcount(word.bits & (mask - 1)));
  }

 private:
  struct Part {
    std::uint64_t start = 0, end = 0;
    std::uint64_t first_word = 0;
  };
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  // objects before these bits
  };
  const Part* part_of(std::uint64_t address) const;

  std::vector<Part> parts_;
  mutable const Part* last_ = nullptr;
  std::vector<Word> words_;
};

}  // namespace clrscope::inspect
