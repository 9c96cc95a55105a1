#include "analyze/stacks.h"

namespace clrscope::analyze {

StackId Stacks::intern_new(const nettrace::Reader& reader, const Event& event) {
  const auto stack = reader.stack(event.stack);
  if (stack.empty()) return StackId::kNone;
  stack.copy_to(scratch_);
  scratch_.push_back(static_cast<std::uint64_t>(event.process));
  const auto ours = table_.intern(scratch_);
  if (table_.size() > first_seen_.size()) first_seen_.resize(table_.size(), event.time);

  const auto id = static_cast<std::size_t>(event.stack);
  if (id < kMaxCached) {
    if (id >= cache_.size()) cache_.resize(std::max(id + 1, cache_.size() * 2));
    cache_[id] = {ours, event.process};
  }
  return ours;
}

}  // namespace clrscope::analyze
