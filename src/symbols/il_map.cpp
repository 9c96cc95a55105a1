#include "symbols/il_map.h"

#include <algorithm>

namespace clrscope {

IlMap::IlMap(std::vector<Entry> entries) : entries_(std::move(entries)) {
  // Several at one place: all but the last one are empty ranges.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.native < b.native; });
  for (auto& e : entries_)
    if (e.il == kPrologue) e.il = 0;
  std::erase_if(entries_, [](const Entry& e) { return e.il >= kEpilogue; });
}

std::optional<std::uint32_t> IlMap::il_offset(std::uint32_t native) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), native,
                       [](std::uint32_t offset, const Entry& e) { return offset < e.native; });
  if (after == entries_.begin()) return std::nullopt;
  return std::prev(after)->il;
}

}  // namespace clrscope
