#include "analyze/heap/tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace clrscope::analyze {
namespace {

constexpr std::uint32_t kTop = 0;
constexpr std::uint32_t kNoType = RootedGraph::kNone;
constexpr std::size_t kMostGroups = 2'000'000;  // of a heap with odd types; usual are thousands

struct Group {
  std::uint32_t parent = kTop;
  HeapNodeKind kind = HeapNodeKind::kHeap;
  std::uint32_t what = kNoType;  // the type, or the root's node
  std::uint32_t depth = 0;
  std::uint64_t count = 0, bytes = 0, retained = 0;
};

// Joins the objects of the tree that have the same parent group and type. A list of objects of the
// same type is one group, however long. What is deeper than `depth` belongs to the last group.
class Groups {
 public:
  Groups(const RootedGraph& graph, const TypeNames& names, std::uint32_t depth)
      : graph_(graph), names_(names), depth_(depth) {
    all_.push_back({});
  }

  void build(const Dominators& dominators) {
    std::vector<std::uint32_t> group_of(graph_.nodes(), kTop);
    for (const auto node : dominators.order) {
      if (node == graph_.top()) continue;
      auto above = group_of[dominators.dominator[node]];
      if (above == kTop && graph_.is_object(node)) {  // no single root keeps it alive
        above = find(kTop, HeapNodeKind::kShared, kNoType);
        all_[above].retained += dominators.retained[node];
      }
      const auto group = group_of[node] = place(node, above);
      if (group != above) all_[group].retained += dominators.retained[node];
      if (!graph_.is_object(node)) continue;
      ++all_[group].count;
      all_[group].bytes += graph_.heap().size_of(node);
    }
    all_[kTop].retained = dominators.retained[graph_.top()];
  }
  const std::vector<Group>& all() const { return all_; }

 private:
  std::uint32_t place(std::uint32_t node, std::uint32_t above) {
    if (graph_.is_root(node)) return find(kTop, HeapNodeKind::kRoot, node);
    const auto type = names_.of_type[graph_.heap().type_of[node]];
    const auto& parent = all_[above];
    if (parent.kind == HeapNodeKind::kObjects && (parent.what == type || parent.depth >= depth_))
      return above;
    return find(above, HeapNodeKind::kObjects, type);
  }
  std::uint32_t find(std::uint32_t parent, HeapNodeKind kind, std::uint32_t what) {
    // Roots and the shared are below the top, types below them: their numbers do not meet.
    const auto key = std::uint64_t{parent} << 32 | what;
    if (all_.size() >= kMostGroups && !known_.contains(key)) return parent;
    const auto [found, added] = known_.try_emplace(key, static_cast<std::uint32_t>(all_.size()));
    if (added)
      all_.push_back(
          {.parent = parent, .kind = kind, .what = what, .depth = all_[parent].depth + 1});
    return found->second;
  }

  const RootedGraph& graph_;
  const TypeNames& names_;
  const std::uint32_t depth_;
  std::vector<Group> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

// The groups to show: large enough, the largest ones, each with its parent.
std::vector<bool> choose(const std::vector<Group>& all, const TreeLimits& limits) {
  const auto least = static_cast<double>(all[kTop].retained) * limits.least_share;
  std::vector<std::uint32_t> large;
  for (std::uint32_t at = 1; at < all.size(); ++at)
    if (static_cast<double>(all[at].retained) >= least) large.push_back(at);
  // A parent retains no less than its child and has a lower number: it is chosen before.
  std::ranges::sort(large, [&](auto a, auto b) {
    return all[a].retained != all[b].retained ? all[a].retained > all[b].retained : a < b;
  });
  if (large.size() > limits.nodes) large.resize(limits.nodes);
  std::vector<bool> chosen(all.size());
  chosen[kTop] = true;
  for (const auto at : large) chosen[at] = true;
  return chosen;
}

HeapNode shown(const RootedGraph& graph, const TypeNames& names, const Group& group) {
  HeapNode node{
      .kind = group.kind, .count = group.count, .bytes = group.bytes, .retained = group.retained};
  if (group.kind == HeapNodeKind::kRoot) {
    const auto& root = graph.root(group.what);
    node.root = root.kind;
    node.name = graph.name(root);
  } else if (group.kind == HeapNodeKind::kObjects) {
    node.name = names.all[group.what].name;
  }
  return node;
}

}  // namespace

std::vector<HeapNode> dominator_tree(const RootedGraph& graph, const TypeNames& names,
                                     const Dominators& dominators, const TreeLimits& limits) {
  Groups groups{graph, names, limits.depth};
  groups.build(dominators);
  const auto& all = groups.all();
  const auto chosen = choose(all, limits);
  std::vector<std::uint32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0U);
  // By parent, then by what they retain; parents have lower numbers than their children.
  std::ranges::sort(order, [&](auto a, auto b) {
    const auto left = std::tuple{all[a].parent, all[b].retained, a};
    const auto right = std::tuple{all[b].parent, all[a].retained, b};
    return left < right;
  });
  std::vector<HeapNode> made;
  std::vector<std::uint32_t> place(all.size());  // in `made`; a parent's is known before
  std::map<std::uint32_t, HeapNode> rests;       // by the parent's place
  for (const auto at : order) {
    const auto parent = all[at].parent;
    if (chosen[at]) {
      place[at] = static_cast<std::uint32_t>(made.size());
      made.push_back(shown(graph, names, all[at]));
      made.back().parent = place[parent];
    } else if (chosen[parent]) {
      auto& rest = rests[place[parent]];
      rest.parent = place[parent];
      rest.kind = HeapNodeKind::kRest;
      rest.count += all[at].count;
      rest.bytes += all[at].bytes;
      rest.retained += all[at].retained;
    }
  }
  for (auto& [parent, rest] : rests) made.push_back(std::move(rest));
  return made;
}

}  // namespace clrscope::analyze
