#include "analyze/sites.h"

#include <fmt/format.h>

#include <algorithm>

#include "nettrace/payload_table.h"

namespace clrscope::analyze {

nettrace::Known KnownEvents::learn(const EventType& type) {
  if (type.index >= known_.size()) {
    known_.resize(type.index + 1);
    asked_.resize(type.index + 1);
  }
  asked_[type.index] = true;
  return known_[type.index] = nettrace::known_event(type);
}

FrameId Sites::site(StackId stack) {
  if (stack == StackId::kNone) return frames_.intern({.method = "?"});
  symbols_.frames(stacks_.process(stack), stacks_.addresses(stack), stacks_.first_seen(stack),
                  scratch_);
  const auto first = [&](auto&& fits) {
    return std::find_if(scratch_.begin(), scratch_.end(),
                        [&](FrameId id) { return fits(frames_.frame(id)); });
  };
  auto at = first([](const Frame& frame) { return frame.kind == FrameKind::kManaged; });
  if (at == scratch_.end())
    at = first([](const Frame& frame) { return frame.kind != FrameKind::kUnknown; });
  return at == scratch_.end() ? scratch_.front() : *at;
}

std::string value_name(std::string_view enumeration, std::uint64_t value) {
  if (const auto* names = nettrace::event_table().names(enumeration))
    for (const auto& one : names->values)
      if (one.value == static_cast<std::int64_t>(value)) return std::string{one.name};
  return fmt::format("{}", value);
}

}  // namespace clrscope::analyze
