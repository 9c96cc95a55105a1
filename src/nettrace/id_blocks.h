// Blocks of numbered variable-length entries (stacks, label lists), looked up by number.
//
// A block is kept as it came and indexed when first asked, so that a reader that only counts pays
// nothing. Blocks are borrowed until own_all(), which copies what was borrowed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace clrscope::nettrace {

class IdBlocks {
 public:
  // Reads one entry from the reader and returns its bytes; fails the reader when there is none.
  using TakeEntry = Bytes (*)(ByteReader&);

  explicit IdBlocks(TakeEntry take_entry) : take_entry_(take_entry) {}

  // False when a limit is reached: then the oldest blocks are gone.
  bool add(std::uint32_t first, std::uint32_t count, Bytes entries, bool borrowed);
  void clear();
  void own_all();
  Bytes find(std::uint32_t id);
  bool holds(std::uint32_t id) const;

 private:
  struct Block {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    Bytes entries;
    bool borrowed = false;
    bool indexed = false;
    std::unique_ptr<std::uint8_t[]> owned;
    std::vector<Bytes> index;
  };

  void own(Block& block);
  void build_index(Block& block) const;
  std::size_t place_after(std::uint32_t id) const;

  TakeEntry take_entry_;
  std::vector<std::unique_ptr<Block>> blocks_;  // by first id
  std::size_t bytes_ = 0;
  std::size_t last_ = 0;  // where the last one was found
};

}  // namespace clrscope::nettrace
