#include "nettrace/id_blocks.h"

#include <algorithm>

namespace clrscope::nettrace {
namespace {

// Between two sequence points. The runtime makes one every few megabytes.
constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::size_t kMaxBlocks = 10'000;

}  // namespace

// How many blocks begin at or before this id.
std::size_t IdBlocks::place_after(std::uint32_t id) const {
  const auto after =
      std::ranges::upper_bound(blocks_, id, {}, [](const auto& b) { return b->first; });
  return static_cast<std::size_t>(after - blocks_.begin());
}

bool IdBlocks::add(std::uint32_t first, std::uint32_t count, Bytes entries, bool borrowed) {
  const bool full = bytes_ + entries.size() > kMaxBytes || blocks_.size() >= kMaxBlocks;
  if (full) clear();
  auto block = std::make_unique<Block>();
  block->first = first;
  block->count = count;
  block->entries = entries;
  block->borrowed = borrowed;
  if (!borrowed) own(*block);
  bytes_ += entries.size();
  const auto place = static_cast<std::ptrdiff_t>(place_after(first));
  blocks_.insert(blocks_.begin() + place, std::move(block));
  last_ = 0;
  return !full;
}

void IdBlocks::clear() {
  blocks_.clear();
  bytes_ = 0;
  last_ = 0;
}

void IdBlocks::own_all() {
  for (auto& block : blocks_)
    if (block->borrowed) own(*block);
}

void IdBlocks::own(Block& block) {
  block.owned = std::make_unique<std::uint8_t[]>(block.entries.size());
  std::ranges::copy(block.entries, block.owned.get());
  block.entries = {block.owned.get(), block.entries.size()};
  block.borrowed = false;
  block.indexed = false;
}

void IdBlocks::build_index(Block& block) const {
  block.index.clear();
  ByteReader in{block.entries};
  for (std::uint32_t i = 0; i < block.count && !in.at_end(); ++i) {
    const auto entry = take_entry_(in);
    if (!in.ok()) break;
    block.index.push_back(entry);
  }
  block.indexed = true;
}

bool IdBlocks::holds(std::uint32_t id) const {
  const auto after = place_after(id);
  return after > 0 && id - blocks_[after - 1]->first < blocks_[after - 1]->count;
}

Bytes IdBlocks::find(std::uint32_t id) {
  const auto holds = [&](const Block& b) { return id >= b.first && id - b.first < b.count; };
  if (last_ >= blocks_.size() || !holds(*blocks_[last_])) {
    const auto after = place_after(id);
    if (after == 0 || !holds(*blocks_[after - 1])) return {};
    last_ = after - 1;
  }
  auto& block = *blocks_[last_];
  if (!block.indexed) build_index(block);
  const auto i = id - block.first;
  return i < block.index.size() ? block.index[i] : Bytes{};
}

}  // namespace clrscope::nettrace
