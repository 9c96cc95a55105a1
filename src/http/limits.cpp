#include "http/limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace clrscope::http {

std::variant<Limits::Place, Limits::Full> Limits::enter(Load load, const std::string& caller) {
  if (load == Load::kLight || load == Load::kHealth) return Place{};
  const auto at = static_cast<std::size_t>(load);
  const auto& limit = table_[at];
  const auto full = counts_->with([&](Counts& counts) -> std::optional<Full> {
    if (counts.all[at] >= limit.all) return Full{limit.name, limit.all, false};
    const auto known = counts.callers.find(caller);
    if (known != counts.callers.end() && known->second[at] >= limit.one)
      return Full{limit.name, limit.one, true};
    ++counts.all[at];
    ++counts.callers[caller][at];
    return std::nullopt;
  });
  if (full) return *full;
  // The place is what the pointer's end gives back.
  return Place{static_cast<void*>(counts_.get()), [counts = counts_, at, caller](void*) {
                 counts->with([&](Counts& all) {
                   --all.all[at];
                   const auto one = all.callers.find(caller);
                   --one->second[at];
                   if (std::ranges::all_of(one->second, [](auto count) { return count == 0; }))
                     all.callers.erase(one);
                 });
               }};
}

std::size_t Limits::under_way(Load load) const {
  return counts_->with(
      [&](const Counts& counts) { return counts.all[static_cast<std::size_t>(load)]; });
}

Error full_error(const Limits::Full& full) {
  return {Errc::kBusy, fmt::format("{} {} are under way already", full.most, full.limit),
          fmt::format("the limit \"{}\" is {}{}; wait until one has ended", full.limit, full.most,
                      full.of_caller ? " for one caller" : "")};
}

}  // namespace clrscope::http
