#include "nettrace/id_blocks.h"

#include <algorithm>

namespace clrscope::nettrace {
namespace {

// Between two sequence points. The runtime makes one every few megabytes.
constexpr std::size_t kMaxBytes = 256 << 20;
constexpr std::size_t kMaxBlocks = 100'000;

}  // namespace

bool IdBlocks::add(std::uint32_t first, std::uint32_t count, Bytes entries, bool borrowed) {
  const bool full = bytes_ + entries.size() > kMaxBytes || blocks_.size() >= kMaxBlocks;
  if (full) clear();
  Block block{.first = first, .count = count, .entries = entries, .borrowed = borrowed};
  if (!borrowed) own(block);
  bytes_ += entries.size();
  const auto place =
      std::upper_bound(blocks_.begin(), blocks_.end(), first,
                       [](std::uint32_t id, const Block& b) { return id < b.first; });
  blocks_.insert(place, std::move(block));
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
    if (block.borrowed) own(block);
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

Bytes IdBlocks::find(std::uint32_t id) {
  const auto holds = [&](const Block& b) { return id >= b.first && id - b.first < b.count; };
  if (last_ >= blocks_.size() || !holds(blocks_[last_])) {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), id,
                         [](std::uint32_t i, const Block& b) { return i < b.first; });
    if (after == blocks_.begin() || !holds(*std::prev(after))) return {};
    last_ = static_cast<std::size_t>(std::prev(after) - blocks_.begin());
  }
  auto& block = blocks_[last_];
  if (!block.indexed) build_index(block);
  const auto i = id - block.first;
  return i < block.index.size() ? block.index[i] : Bytes{};
}

}  // namespace clrscope::nettrace
