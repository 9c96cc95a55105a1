#include "inspect/heap/collectible.h"

#include <algorithm>
#include <unordered_map>

namespace clrscope::inspect {
namespace {

constexpr std::string_view kLoader = "System.Reflection.LoaderAllocator";

// By the address of the runtime's own part, the number of the object that stands for it.
std::unordered_map<std::uint64_t, std::uint32_t> find_loaders(Memory& memory, RuntimeReader& reader,
                                                              const HeapGraph& graph) {
  std::unordered_map<std::uint64_t, std::uint32_t> loaders;
  const auto loader_type = std::ranges::find(graph.types, kLoader, &HeapType::name);
  if (loader_type == graph.types.end()) return loaders;
  const auto number = static_cast<std::uint32_t>(loader_type - graph.types.begin());
  const auto field_of = [&](std::uint64_t object, std::string_view name) -> std::uint64_t {
    const auto table = memory.pointer(object).value_or(0) & ~std::uint64_t{7};
    const auto type = reader.type_of_table(table);
    const auto* const field = type ? type->field(name) : nullptr;
    return field ? memory.pointer(object + field->offset).value_or(0) : 0;
  };
  for (std::uint32_t i = 0; i < graph.objects(); ++i) {
    if (graph.type_of[i] != number) continue;
    const auto scout = field_of(graph.addresses[i], "m_scout");
    const auto native = scout == 0 ? 0 : field_of(scout, "m_nativeLoaderAllocator");
    if (native != 0) loaders[native] = i;
  }
  return loaders;
}

}  // namespace

std::vector<ExtraEdge> edges_to_loaders(Target& target, RuntimeReader& reader,
                                        std::span<ObjectLayout* const> layouts,
                                        const HeapGraph& graph) {
  std::vector<ExtraEdge> edges;
  Memory memory{target.memory()};
  const auto loaders = find_loaders(memory, reader, graph);
  if (loaders.empty()) return edges;
  std::vector<std::uint32_t> loader_of(layouts.size(), ObjectIndex::kNone);
  for (std::size_t type = 0; type < layouts.size(); ++type) {
    if (!layouts[type]->collectible) continue;
    const auto known = loaders.find(reader.loader_of(layouts[type]->table));
    if (known != loaders.end()) loader_of[type] = known->second;
  }
  for (std::uint32_t i = 0; i < graph.objects(); ++i)
    if (const auto loader = loader_of[graph.type_of[i]]; loader != ObjectIndex::kNone)
      edges.push_back({i, loader});
  return edges;
}

}  // namespace clrscope::inspect
