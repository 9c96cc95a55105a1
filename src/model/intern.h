// Strings and stacks are kept once and carried as ids. Id 0 is the empty one. Nothing is ever
// removed, so what is returned lives as long as its table. One table belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace clrscope {

// Open addressing over hashes; the owner keeps the values and compares them.
class HashIndex {
 public:
  // The slot's id if `same(id)` holds for one with this hash, else kNone; then call insert().
  static constexpr std::uint32_t kNone = 0xffffffff;

  template <class Same>
  std::uint32_t find(std::uint64_t hash, Same&& same) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = hash & mask(); slots_[at].id != kNone; at = (at + 1) & mask())
      if (slots_[at].hash == hash && same(slots_[at].id)) return slots_[at].id;
    return kNone;
  }
  void insert(std::uint64_t hash, std::uint32_t id);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = kNone;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

std::uint64_t hash_bytes(const void* data, std::size_t size);

class StringTable {
 public:
  StringTable();
  StringId intern(std::string_view text);
  std::string_view text(StringId id) const { return strings_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  HashIndex index_;
};

// A stack is a list of frame values (addresses or symbol ids), leaf first.
class StackTable {
 public:
  StackTable();
  StackId intern(std::span<const std::uint64_t> frames);
  std::span<const std::uint64_t> frames(StackId id) const;
  std::size_t size() const { return begins_.size(); }

 private:
  // Frames per allocation, so that spans stay where they are.
  static constexpr std::size_t kChunk = std::size_t{64} * 1024;
  struct Place {
    const std::uint64_t* begin;
    std::uint32_t count;
  };
  std::vector<std::unique_ptr<std::uint64_t[]>> chunks_;
  std::size_t left_in_chunk_ = 0;
  std::uint64_t* next_ = nullptr;
  std::vector<Place> begins_;
  HashIndex index_;
};

}  // namespace clrscope
