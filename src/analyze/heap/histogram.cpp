#include "analyze/heap/histogram.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace clrscope::analyze {

TypeNames join_types(const HeapGraph& graph) {
  TypeNames made;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
  made.of_type.reserve(graph.types.size());
  for (const auto& type : graph.types) {
    const auto [found, added] =
        known.try_emplace(std::pair{std::string_view{type.name}, type.module},
                          static_cast<std::uint32_t>(made.all.size()));
    if (added) made.all.push_back({type.name, type.module});
    made.of_type.push_back(found->second);
  }
  return made;
}

std::vector<HeapTypeRow> count_types(const HeapGraph& graph, const TypeNames& names,
                                     const Dominators* dominators) {
  std::vector<HeapTypeRow> rows;
  rows.reserve(names.all.size());
  for (const auto& type : names.all) rows.push_back({.type = type.name, .module = type.module});
  for (std::uint32_t object = 0; object < graph.objects(); ++object) {
    auto& row = rows[names.of_type[graph.type_of[object]]];
    ++row.count;
    row.bytes += graph.size_of(object);
  }
  if (dominators == nullptr) return rows;
  std::vector<std::uint64_t> retained(rows.size());
  std::vector<std::size_t> inside_until(rows.size());  // the place where an object's tree ends
  for (std::size_t at = 0; at < dominators->order.size(); ++at) {
    const auto object = dominators->order[at];
    if (object >= graph.objects()) continue;
    const auto type = names.of_type[graph.type_of[object]];
    if (at < inside_until[type]) continue;
    inside_until[type] = at + dominators->subtree[at];
    retained[type] += dominators->retained[object];
  }
  for (std::uint32_t object = 0; object < graph.objects(); ++object)
    if (!dominators->reachable(object))
      retained[names.of_type[graph.type_of[object]]] += graph.size_of(object);
  for (std::size_t at = 0; at < rows.size(); ++at) rows[at].retained = retained[at];
  return rows;
}

Generations::Generations(std::span<const HeapSegment> segments) {
  for (const auto& one : segments)
    if (one.start < one.end) ranges_.push_back({one.start, one.end, one.generation});
  std::ranges::sort(ranges_, {}, &Range::start);
}

HeapGeneration Generations::of(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (after == ranges_.begin()) return HeapGeneration::kUnknown;
  --after;
  return address < after->end ? after->generation : HeapGeneration::kUnknown;
}

std::vector<HeapGenerationRow> count_generations(std::span<const HeapSegment> segments) {
  std::map<HeapGeneration, HeapGenerationRow> rows;
  for (const auto& one : segments) {
    auto& row = rows[one.generation];
    row.generation = one.generation;
    ++row.segments;
    row.objects += one.objects;
    row.bytes += one.object_bytes;
    row.committed += one.committed;
    row.free += one.free_bytes;
    row.largest_free = std::max(row.largest_free, one.largest_free);
  }
  std::vector<HeapGenerationRow> made;
  for (auto& [generation, row] : rows) {
    const auto used = static_cast<double>(row.bytes) + static_cast<double>(row.free);
    row.fragmentation = used > 0 ? 100 * static_cast<double>(row.free) / used : 0;
    made.push_back(row);
  }
  return made;
}

}  // namespace clrscope::analyze
