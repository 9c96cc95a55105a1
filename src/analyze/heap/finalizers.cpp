#include "analyze/heap/finalizers.h"

#include <algorithm>
#include <map>

namespace clrscope::analyze {

std::optional<FinalizerLook> look_at_finalizers(const HeapSnapshot& heap,
                                                std::chrono::nanoseconds at) {
  if (!heap.to_finalize) return std::nullopt;
  constexpr std::size_t kMostTypes = 5;
  FinalizerLook look{.at = at, .due = *heap.to_finalize};
  std::map<std::uint32_t, std::uint64_t> counts;  // by type
  const auto& graph = heap.graph;
  for (const auto& root : graph.roots)
    if (root.kind == RootKind::kFinalizer && root.object < graph.type_of.size())
      ++counts[graph.type_of[root.object]];
  for (const auto& [type, count] : counts)
    if (type < graph.types.size()) look.types.emplace_back(graph.types[type].name, count);
  std::ranges::stable_sort(look.types, std::greater{}, [](const auto& one) { return one.second; });
  if (look.types.size() > kMostTypes) look.types.resize(kMostTypes);
  return look;
}

}  // namespace clrscope::analyze
