#include "analyze/heap/graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace clrscope::analyze {

Result<> check_graph(const HeapGraph& graph) {
  const std::size_t objects = graph.type_of.size();
  constexpr std::size_t kMost = RootedGraph::kNone - 2;
  const auto damaged = [](std::string_view what) {
    return fail(Errc::kCorrupt, "the heap snapshot is damaged: {}", what)
        .hint("take a new snapshot");
  };
  if (objects + graph.roots.size() > kMost) return damaged("it has too many objects");
  if (graph.addresses.size() != objects || graph.sizes.size() != objects)
    return damaged("its tables differ in length");
  if (graph.first_edge.size() != objects + 1 && !(objects == 0 && graph.first_edge.empty()))
    return damaged("its references have no table");
  if (!graph.first_edge.empty() &&
      (graph.first_edge.front() != 0 || graph.first_edge.back() != graph.edges.size() ||
       !std::ranges::is_sorted(graph.first_edge)))
    return damaged("the table of its references is out of order");
  if (std::ranges::any_of(graph.edges, [&](auto to) { return to >= objects; }))
    return damaged("a reference leads nowhere");
  if (std::ranges::any_of(graph.type_of, [&](auto type) { return type >= graph.types.size(); }))
    return damaged("an object has no type");
  if (std::ranges::any_of(graph.roots, [&](const auto& root) { return root.object >= objects; }))
    return damaged("a root leads nowhere");
  for (std::uint32_t object = 0; object < objects; ++object)
    if (graph.sizes[object] == HeapGraph::kHuge && !graph.huge_sizes.contains(object))
      return damaged("an object has no size");
  return {};
}

RootedGraph::RootedGraph(const HeapGraph& graph) : heap_(graph) {
  std::vector<std::uint32_t> order(graph.roots.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t at) {
    const auto& root = graph.roots[at];
    return std::tuple{root.kind, root.name, root.object};
  };
  std::ranges::sort(order, {}, key);
  rooted_.reserve(order.size());
  for (const auto at : order) {
    const auto& root = graph.roots[at];
    if (roots_.empty() || roots_.back().kind != root.kind || roots_.back().name != root.name) {
      first_rooted_.push_back(static_cast<std::uint32_t>(rooted_.size()));
      root_nodes_.push_back(objects() + static_cast<std::uint32_t>(roots_.size()));
      roots_.push_back({root.kind, root.name, 0});
    }
    ++roots_.back().roots;
    if (rooted_.size() == first_rooted_.back() || rooted_.back() != root.object)
      rooted_.push_back(root.object);
  }
  first_rooted_.push_back(static_cast<std::uint32_t>(rooted_.size()));
}

std::uint8_t RootedGraph::rank_of(RootKind kind) {
  switch (kind) {
    case RootKind::kStatic:
    case RootKind::kThreadStatic:
      return 0;
    case RootKind::kStack:
      return 1;
    case RootKind::kStrongHandle:
    case RootKind::kPinnedHandle:
    case RootKind::kRefCountHandle:
      return 2;
    case RootKind::kFinalizer:
    case RootKind::kOther:
      break;
  }
  return kRanks - 1;
}

std::string_view RootedGraph::name(const Root& root) const {
  return root.name < heap_.root_names.size() ? std::string_view{heap_.root_names[root.name]}
                                             : std::string_view{};
}

}  // namespace clrscope::analyze
