#include "analyze/heap/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace clrscope::analyze {
namespace {

constexpr auto kNone = RootedGraph::kNone;

// Of a merged path: what is deeper is joined with the last step. Bounds the number of paths that a
// hostile heap can have.
constexpr std::uint32_t kDeepest = 64;
// Of one path as it is shown: its beginning and its end.
constexpr std::size_t kStepsShown = 64;

// Types from a root on, each by the one before.
class PathTree {
 public:
  struct Node {
    std::uint32_t parent = kNone;
    std::uint32_t type = 0;  // or the root's node
    std::uint32_t depth = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  std::uint32_t below(std::uint32_t parent, std::uint32_t type) {
    if (parent != kNone) {
      const auto& above = nodes_[parent];
      if (above.depth >= kDeepest || (above.depth > 0 && above.type == type)) return parent;
    }
    const auto key = std::uint64_t{parent} << 32 | type;
    const auto [found, added] = known_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (added)
      nodes_.push_back({.parent = parent,
                        .type = type,
                        .depth = parent == kNone ? 0 : nodes_[parent].depth + 1});
    return found->second;
  }
  Node& operator[](std::uint32_t at) { return nodes_[at]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

HeapStep root_step(const RootedGraph& graph, std::uint32_t node) {
  const auto& root = graph.root(node);
  return {.root = root.kind, .name = std::string{graph.name(root)}};
}

HeapStep type_step(const RootedGraph& graph, std::uint32_t type) {
  return {.name = graph.heap().types[type].name};
}

}  // namespace

std::string heap_address(std::uint64_t address) { return fmt::format("{:#x}", address); }

Paths::Paths(const RootedGraph& graph) : graph_(graph), from_(graph.objects(), kNone) {
  std::vector<std::uint32_t> queue;
  queue.reserve(graph.objects());
  for (std::uint8_t rank = 0; rank < RootedGraph::kRanks; ++rank) {
    for (std::uint32_t node = graph.objects(); node < graph.top(); ++node) {
      if (RootedGraph::rank_of(graph.root(node).kind) != rank) continue;
      for (const auto object : graph.successors(node)) {
        if (reaches(object)) continue;
        from_[object] = node;
        queue.push_back(object);
      }
    }
    search(queue);
    queue.clear();
  }
}

void Paths::search(std::vector<std::uint32_t>& queue) {
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (const auto to : graph_.successors(queue[at])) {
      if (reaches(to)) continue;
      from_[to] = queue[at];
      queue.push_back(to);
    }
}

std::vector<HeapStep> Paths::to(std::uint32_t object) const {
  std::vector<HeapStep> steps;
  if (!reaches(object)) return steps;
  const auto& heap = graph_.heap();
  auto type = kNone;
  auto node = object;
  std::uint64_t left_out = 0;
  for (; graph_.is_object(node); node = from_[node]) {
    if (heap.type_of[node] == type) {  // a list: one step for all of it
      ++steps.back().times;
      steps.back().address.clear();
      continue;
    }
    type = heap.type_of[node];
    if (steps.size() >= kStepsShown) {
      ++left_out;
      continue;
    }
    steps.push_back(type_step(graph_, type));
    steps.back().address = heap_address(heap.addresses[node]);
  }
  if (left_out > 0) steps.push_back({.name = "…", .times = left_out});
  steps.push_back(root_step(graph_, node));
  std::ranges::reverse(steps);
  return steps;
}

Paths::Merged Paths::merged(std::span<const std::uint32_t> objects, std::size_t most) const {
  const auto& heap = graph_.heap();
  PathTree tree;
  // By object: its path. Only of those on the way to one of `objects`.
  std::vector<std::uint32_t> path_of(graph_.objects(), kNone);
  std::vector<std::uint32_t> way;
  Merged made;
  for (const auto object : objects) {
    if (!reaches(object)) {
      ++made.unreachable;
      continue;
    }
    way.clear();
    auto node = object;
    while (graph_.is_object(node) && path_of[node] == kNone) {
      way.push_back(node);
      node = from_[node];
    }
    auto path = graph_.is_object(node) ? path_of[node] : tree.below(kNone, node);
    while (!way.empty()) {
      path = path_of[way.back()] = tree.below(path, heap.type_of[way.back()]);
      way.pop_back();
    }
    auto& end = tree[path_of[object]];
    ++end.count;
    end.bytes += heap.size_of(object);
  }
  std::vector<std::uint32_t> ends;
  for (std::uint32_t at = 0; at < tree.nodes().size(); ++at)
    if (tree[at].count > 0) ends.push_back(at);
  made.all = ends.size();
  std::ranges::stable_sort(ends, std::greater{}, [&](auto at) { return tree[at].count; });
  if (ends.size() > most) ends.resize(most);
  for (auto at : ends) {
    HeapPath path{.count = tree[at].count, .bytes = tree[at].bytes};
    for (; tree[at].depth > 0; at = tree[at].parent)
      path.steps.push_back(type_step(graph_, tree[at].type));
    path.steps.push_back(root_step(graph_, tree[at].type));
    std::ranges::reverse(path.steps);
    made.paths.push_back(std::move(path));
  }
  return made;
}

}  // namespace clrscope::analyze
