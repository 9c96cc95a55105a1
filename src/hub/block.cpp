#include "hub/block.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace clrscope::hub {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

std::uint32_t SourceInfo::runtime_major() const {
  const auto major = parse_number(std::string_view{runtime}.substr(0, runtime.find('.')));
  return static_cast<std::uint32_t>(major.value_or(0));
}

Bytes Block::keep(Bytes bytes) {
  if (bytes.empty()) return {};
  if (arena_.empty() || arena_.back().capacity() - arena_.back().size() < bytes.size())
    arena_.emplace_back().reserve(std::max(kPiece, bytes.size()));
  auto& piece = arena_.back();
  const auto at = piece.size();
  piece.insert(piece.end(), bytes.begin(), bytes.end());
  return {piece.data() + at, bytes.size()};
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
  stacks_.emplace_back(stack.bytes().begin(), stack.bytes().end());
  return static_cast<std::uint32_t>(events_.size() - 1);
}

}  // namespace clrscope::hub
