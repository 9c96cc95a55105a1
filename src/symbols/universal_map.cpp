#include "symbols/universal_map.h"

#include <algorithm>
#include <tuple>

namespace clrscope {
namespace {

constexpr std::size_t kMaxRanges = 1 << 20;  // of a process; more is no sane trace
constexpr int kMaxSteps = 256;               // keeps hostile overlaps from making lookups slow

}  // namespace

void UniversalMap::Symbols::add(Symbol symbol) {
  if (!all.empty() && symbol.first < all.back().first) sorted = false;
  all.push_back(std::move(symbol));
}

std::string_view UniversalMap::Symbols::find(std::uint64_t address) {
  if (!sorted) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Symbol& a, const Symbol& b) { return a.first < b.first; });
    sorted = true;
  }
  const auto after =
      std::upper_bound(all.begin(), all.end(), address,
                       [](std::uint64_t at, const Symbol& symbol) { return at < symbol.first; });
  if (after == all.begin() || std::prev(after)->last < address) return {};
  return std::prev(after)->name;
}

void UniversalMap::mapping(std::uint64_t id, std::uint64_t start, std::uint64_t end,
                           std::string_view path, TraceTime when, std::uint64_t offset,
                           std::string_view build_id) {
  if (end <= start || mappings_.size() >= kMaxRanges) return;
  mappings_.push_back(
      {start, end, end, when, offset, std::string{path}, std::string{build_id}, &symbols_[id]});
  settled_ = false;
}

void UniversalMap::symbol(std::uint64_t mapping, std::uint64_t first, std::uint64_t last,
                          std::string_view name) {
  if (last < first || name.empty() || symbol_count_ >= kMaxRanges) return;
  ++symbol_count_;
  symbols_[mapping].add({first, last, std::string{name}});
}

void UniversalMap::settle() {
  std::sort(mappings_.begin(), mappings_.end(), [](const Mapping& a, const Mapping& b) {
    return std::tie(a.start, a.from) < std::tie(b.start, b.from);
  });
  std::uint64_t max_end = 0;
  for (auto& one : mappings_) one.max_end = max_end = std::max(max_end, one.end);
  settled_ = true;
}

UniversalMap::Found UniversalMap::find(std::uint64_t address, TraceTime when) {
  if (!settled_) settle();
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), address,
                       [](std::uint64_t at, const Mapping& one) { return at < one.start; });
  const Mapping* best = nullptr;
  bool always = true;
  int steps = 0;
  for (auto at = after; at != mappings_.begin() && steps++ < kMaxSteps;) {
    --at;
    if (at->max_end <= address) break;
    if (at->end <= address) continue;
    if (!best) {
      best = &*at;
      continue;
    }
    always = false;
    const bool was_there = best->from <= when;
    const bool is_there = at->from <= when;
    // The last one that was there; before all of them, the first.
    if (is_there != was_there ? is_there
                              : (is_there ? at->from > best->from : at->from < best->from))
      best = &*at;
  }
  if (!best) return {.symbol = symbols_[0].find(address)};
  return {.path = best->path,
          .symbol = best->symbols->find(address),
          .build_id = best->build_id,
          .file_offset = best->offset + (address - best->start),
          .mapped = true,
          .always = always};
}

}  // namespace clrscope
