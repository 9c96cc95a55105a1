#include "sinks/time_order.h"

#include <algorithm>

namespace clrscope::sinks {

void TimeOrder::add(const hub::Batch& batch) {
  if (batch.rows.empty()) return;
  auto& kept = kept_.emplace_back(Kept{.block = batch.block, .left = batch.rows.size()});
  for (const auto row : batch.rows)
    held_.push_back({.time = batch.block->events()[row].time, .kept = &kept, .row = row});
}

void TimeOrder::take(TraceTime until, const Visit& visit) {
  std::ranges::stable_sort(held_, {}, &Held::time);
  auto end = std::ranges::upper_bound(held_, until, {}, &Held::time);
  // A full store is emptied by half, so that it is not sorted again with the next batch.
  if (full()) end = std::max(end, held_.begin() + static_cast<std::ptrdiff_t>(held_.size() / 2));
  for (auto at = held_.begin(); at != end; ++at) {
    visit(*at->kept->block, at->row);
    --at->kept->left;
  }
  held_.erase(held_.begin(), end);
  std::erase_if(kept_, [](const Kept& one) { return one.left == 0; });
}

}  // namespace clrscope::sinks
