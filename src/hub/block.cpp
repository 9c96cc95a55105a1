#include "hub/block.h"

#include <cstring>

#include "base/text.h"

namespace clrscope::hub {
std::uint32_t SourceInfo::runtime_major() const {
  const auto major = parse_number(std::string_view{runtime}.substr(0, runtime.find('.')));
  return static_cast<std::uint32_t>(major.value_or(0));
}

std::shared_ptr<Block> Block::like(const Block& other) {
  return std::make_shared<Block>(other.source_, other.owner_, other.reader_, other.wall_offset_,
                                 other.pointer_size_);
}

Bytes Block::keep(Bytes bytes) {
  if (bytes.empty()) return {};
  auto* at = static_cast<std::uint8_t*>(arena_.allocate(bytes.size(), 1));
  std::memcpy(at, bytes.data(), bytes.size());
  kept_ += bytes.size();
  return {at, bytes.size()};
}

std::uint32_t Block::add(const Event& event, StackView stack) {
  auto kept = event;
  kept.payload = keep(event.payload);
  kept.labels = nullptr;  // live streams have none
  const auto guid = [&](const Guid* one) -> const Guid* {
    if (one == nullptr) return nullptr;
    static_assert(alignof(Guid) == 1);
    return reinterpret_cast<const Guid*>(keep(one->bytes).data());
  };
  kept.activity = guid(event.activity);
  kept.related = guid(event.related);
  events_.push_back(kept);
  if (!stack.bytes().empty()) {
    stacks_.resize(events_.size());
    stacks_.back() = keep(stack.bytes());
  }
  return static_cast<std::uint32_t>(events_.size() - 1);
}

}  // namespace clrscope::hub
