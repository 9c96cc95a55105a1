#include "inspect/heap/method_tables.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostTables = 1 << 20;  // with words that turned out to be none
constexpr std::uint32_t kMostBase = 1 << 27;
constexpr std::int64_t kMostSeries = 1 << 16;

constexpr std::uint32_t kHasComponents = 0x80000000;
constexpr std::uint32_t kHasReferences = 0x01000000;
constexpr std::uint32_t kCollectible = 0x00200000;  // of .NET 9 and 10
constexpr std::uint64_t kParentAt = 16, kClassAt = 40, kTableOfClassAt = 16;

struct TableHead {
  std::uint32_t flags;
  std::uint32_t base_size;
};

}  // namespace

MethodTables::MethodTables(Target& target) : memory_(target.memory()) {
  if (auto mappings = target.mappings()) mappings_ = *std::move(mappings);
  std::ranges::sort(mappings_, {}, &Mapping::start);
}

bool MethodTables::is_mapped(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::start);
  return after != mappings_.begin() && address < std::prev(after)->end;
}

ObjectLayout* MethodTables::look_up(std::uint64_t table) {
  if (table < 4096 || table % 8 != 0) return nullptr;
  if (const auto known = tables_.find(table); known != tables_.end()) return known->second.get();
  if (!is_mapped(table)) return nullptr;
  if (tables_.size() >= kMostTables)
    std::erase_if(tables_, [](const auto& one) { return !one.second; });
  if (tables_.size() >= kMostTables) return nullptr;  // no program has so many: garbage
  auto layout = read(table);
  auto* const found = layout.get();
  if (found) known_.push_back(found);
  tables_.emplace(table, std::move(layout));
  return found;
}

bool MethodTables::class_points_back(std::uint64_t table) {
  auto link = memory_.pointer(table + kClassAt);
  auto canonical = table;
  if (link && (*link & 1) != 0) {
    canonical = *link & ~std::uint64_t{1};
    link = memory_.pointer(canonical + kClassAt);
  }
  if (!link || *link < 4096 || *link % 8 != 0) return false;
  return memory_.pointer(*link + kTableOfClassAt) == canonical;
}

std::unique_ptr<ObjectLayout> MethodTables::read(std::uint64_t table) {
  const auto head = memory_.get<TableHead>(table);
  if (!head || head->base_size > kMostBase) return nullptr;
  auto layout = std::make_unique<ObjectLayout>();
  layout->table = table;
  layout->base_size = head->base_size;
  if ((head->flags & kHasComponents) != 0) layout->component_size = head->flags & 0xffff;
  // What fills a hole has no class: it is like an array of bytes.
  layout->is_free = layout->component_size == 1 && head->base_size == ObjectLayout::kLeastObject &&
                    memory_.pointer(table + kClassAt) == std::uint64_t{0} &&
                    memory_.pointer(table + kParentAt) == std::uint64_t{0};
  if (layout->is_free) return layout;
  // A string has no length of its own before its characters: 22 bytes are taken by no other type.
  layout->is_string = layout->component_size == 2 && head->base_size == 22;
  if (!layout->is_string && head->base_size < ObjectLayout::kLeastObject) return nullptr;
  if (!class_points_back(table)) return nullptr;
  layout->collectible = (head->flags & kCollectible) != 0;
  if ((head->flags & kHasReferences) != 0 && !read_references(*layout)) return nullptr;
  return layout;
}

// The collector's description ends before the method table: a count, before it as many series; or a
// negative count, before it an offset and as many pieces of an element.
bool MethodTables::read_references(ObjectLayout& layout) {
  const auto count = memory_.get<std::int64_t>(layout.table - 8).value_or(0);
  if (count == 0 || count > kMostSeries || count < -kMostSeries) return false;
  auto at = layout.table - 8;
  if (count > 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      at -= 16;
      const auto length = memory_.get<std::int64_t>(at);
      const auto offset = memory_.get<std::uint64_t>(at + 8);
      if (!length || !offset || *offset < 8 || *offset > layout.base_size || *offset % 8 != 0)
        return false;
      layout.series.push_back({*length, *offset});
    }
    std::ranges::sort(layout.series, {}, &ObjectLayout::Series::offset);
    return true;
  }
  layout.first_piece = memory_.get<std::uint64_t>(at - 8).value_or(0);
  if (layout.first_piece < 16 || layout.first_piece > layout.base_size + layout.component_size)
    return false;
  at -= 8;
  std::uint64_t element = 0;
  for (std::int64_t i = 0; i > count; --i) {
    at -= 8;
    const auto piece = memory_.get<ObjectLayout::Piece>(at);
    if (!piece) return false;
    element += std::uint64_t{piece->references} * 8 + piece->skipped;
    layout.pieces.push_back(*piece);
  }
  return element == layout.component_size && element > 0;
}

}  // namespace clrscope::inspect
