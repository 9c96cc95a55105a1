#include "live/counter_history.h"

#include <algorithm>

#include "base/text.h"

namespace clrscope::live {

void CounterHistory::add(std::span<const hub::CounterValue> values) {
  const std::lock_guard lock{mutex_};
  for (const auto& value : values) {
    if (value.time - tidied_ > std::chrono::minutes{1}) {
      tidied_ = value.time;
      std::erase_if(series_, [&](const auto& one) {
        return one.second.last.time < value.time - limits_.length;
      });
    }
    const auto key = value.provider + '\n' + value.name + '\n' + value.tags_text();
    auto at = series_.find(key);
    if (at == series_.end()) {
      if (series_.size() >= limits_.series) {
        ++left_out_;
        continue;
      }
      at = series_.emplace(key, Kept{}).first;
    }
    auto& [last, points] = at->second;
    // Two clients that requested it get the same.
    if (!points.empty() && value.time <= points.back().time) continue;
    last = value;
    points.push_back({value.time, hub::shown_value(value)});
    while (points.front().time < value.time - limits_.length) points.pop_front();
  }
}

std::vector<CounterSeries> CounterHistory::series(const Choice& choice,
                                                  std::chrono::nanoseconds length) const {
  const std::lock_guard lock{mutex_};
  std::vector<CounterSeries> all;
  for (const auto& [key, kept] : series_) {
    const auto& last = kept.last;
    if (!choice.provider.empty() && !equal_ignoring_case(choice.provider, last.provider)) continue;
    if (!choice.name.empty() && !equal_ignoring_case(choice.name, last.name)) continue;
    CounterSeries one{.last = last};
    const auto from = wall_now() - length;
    const auto first =
        std::ranges::find_if(kept.points, [&](const auto& p) { return p.time >= from; });
    one.points.assign(first, kept.points.end());
    all.push_back(std::move(one));
  }
  return all;
}

std::uint64_t CounterHistory::left_out() const {
  const std::lock_guard lock{mutex_};
  return left_out_;
}

}  // namespace clrscope::live
