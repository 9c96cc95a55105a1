#include "analyze/stacks.h"

#include <algorithm>

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

std::vector<std::uint64_t> Stacks::all_addresses() const {
  std::vector<std::uint64_t> all;
  for (std::size_t id = 1; id < size(); ++id) {
    const auto one = addresses(StackId{static_cast<std::uint32_t>(id)});
    all.insert(all.end(), one.begin(), one.end());
  }
  std::ranges::sort(all);
  const auto doubles = std::ranges::unique(all);
  all.erase(doubles.begin(), doubles.end());
  return all;
}

}  // namespace clrscope::analyze
