#include "analyze/heap/dominators.h"

#include <algorithm>
#include <array>
#include <utility>

namespace clrscope::analyze {
namespace {

using Numbers = std::vector<std::uint32_t>;
constexpr auto kNone = Dominators::kNone;

// All reachable nodes, numbered in the order in which a depth-first search comes upon them. The
// search begins with the best roots, so that nodes of one rank have numbers in one piece.
struct Search {
  Numbers vertex;                                        // by number: the node
  Numbers parent;                                        // by number: the number it was found from
  Numbers number;                                        // by node
  std::array<std::uint32_t, RootedGraph::kRanks> first;  // by rank: the first number
};

Search search(const RootedGraph& graph) {
  Search found{.vertex = {}, .parent = {}, .number = Numbers(graph.nodes(), kNone), .first = {}};
  found.vertex.reserve(graph.nodes());
  found.parent.reserve(graph.nodes());
  Numbers next;  // by number: the successor that is looked at next
  next.reserve(graph.nodes());
  std::size_t rank = 0;
  const auto enter = [&](std::uint32_t node, std::uint32_t from) {
    const auto number = static_cast<std::uint32_t>(found.vertex.size());
    if (graph.is_root(node))
      while (rank < RootedGraph::rank_of(graph.root(node).kind)) found.first[++rank] = number;
    found.number[node] = number;
    found.vertex.push_back(node);
    found.parent.push_back(from);
    next.push_back(0);
    return number;
  };
  auto at = enter(graph.top(), 0);
  for (;;) {
    const auto successors = graph.successors(found.vertex[at]);
    auto& cursor = next[at];
    while (cursor < successors.size() && found.number[successors[cursor]] != kNone) ++cursor;
    if (cursor < successors.size())
      at = enter(successors[cursor++], at);
    else if (at == 0)
      break;
    else
      at = found.parent[at];
  }
  const auto count = static_cast<std::uint32_t>(found.vertex.size());
  while (++rank < found.first.size()) found.first[rank] = count;
  return found;
}

// Predecessors by number, as numbers: all[first[i]] up to all[first[i + 1]].
struct Predecessors {
  Numbers first;
  Numbers all;
};

Predecessors predecessors(const RootedGraph& graph, const Search& found) {
  const auto count = found.vertex.size();
  Predecessors made{.first = Numbers(count + 1), .all = {}};
  // References to nodes of better rank do not count.
  const auto for_each = [&](auto&& visit) {
    std::size_t rank = 0;
    for (std::uint32_t from = 0; from < count; ++from) {
      while (rank + 1 < found.first.size() && from >= found.first[rank + 1]) ++rank;
      for (const auto node : graph.successors(found.vertex[from]))
        if (const auto to = found.number[node]; to >= found.first[rank]) visit(from, to);
    }
  };
  for_each([&](std::uint32_t, std::uint32_t to) { ++made.first[to]; });
  std::uint32_t sum = 0;
  for (auto& first : made.first) first = sum += first;  // the end of each; filled backwards
  made.all.resize(sum);
  for_each([&](std::uint32_t from, std::uint32_t to) { made.all[--made.first[to]] = from; });
  return made;
}

// The forest of nodes that are done: what is the least semidominator on the way up?
//
// Nodes are done from the last one down, and so are the lists of their predecessors. Each has at
// least one, so the places of those that are done hold the ancestors.
class Forest {
 public:
  Forest(std::size_t nodes, Numbers& predecessors)
      : label_(nodes), places_(predecessors), before_(predecessors.size() - nodes) {}

  void link(std::uint32_t node, std::uint32_t parent, std::uint32_t semi) {
    ancestor(node) = parent;
    label_[node] = semi;
  }

  // Nodes from `linked` on are in the forest. Shortens the way for the next time: goes up with
  // the pointers turned round, and back by them.
  std::uint32_t least(std::uint32_t node, std::uint32_t linked) {
    if (node < linked) return node;
    if (ancestor(node) < linked) return label_[node];
    auto below = kNone;
    while (ancestor(node) >= linked) {
      const auto up = std::exchange(ancestor(node), below);
      below = std::exchange(node, up);
    }
    const auto top = ancestor(node);
    auto label = label_[node];
    while (below != kNone) {
      label = label_[below] = std::min(label, label_[below]);
      below = std::exchange(ancestor(below), top);
    }
    return label;
  }

 private:
  // Of a node that is linked; never of the first one, which may have no predecessor.
  std::uint32_t& ancestor(std::uint32_t node) { return places_[before_ + node]; }

  Numbers label_;
  Numbers& places_;
  std::size_t before_;  // may wrap round: the first node has no place
};

// Immediate dominators by number; takes over `parent`.
Numbers dominators_by_number(Predecessors before, Numbers parent) {
  auto semi = std::move(before.first);  // a list that has been read makes room for its result
  {
    Forest forest{parent.size(), before.all};
    auto end = before.all.size();
    for (auto w = static_cast<std::uint32_t>(parent.size()); w-- > 1;) {
      const std::size_t begin = semi[w];
      auto least = parent[w];
      for (auto at = begin; at < end; ++at)
        least = std::min(least, forest.least(before.all[at], w + 1));
      end = begin;
      semi[w] = least;
      forest.link(w, parent[w], least);
    }
  }
  for (std::uint32_t w = 1; w < parent.size(); ++w) {
    auto above = parent[w];  // those before w are dominators by now
    while (above > semi[w]) above = parent[above];
    parent[w] = above;
  }
  return parent;
}

}  // namespace

Dominators find_dominators(const RootedGraph& graph) {
  Dominators made;
  {
    auto found = search(graph);
    auto before = predecessors(graph, found);
    found.number = {};
    const auto idom = dominators_by_number(std::move(before), std::move(found.parent));
    const auto count = static_cast<std::uint32_t>(found.vertex.size());
    Numbers below(count, 1);  // by number: nodes of its subtree
    for (auto w = count; w-- > 1;) below[idom[w]] += below[w];
    made.dominator.assign(graph.nodes(), kNone);
    made.order.resize(count);
    made.subtree.resize(count);
    // Places in the preorder: each child takes the next part of its parent's. When a node has its
    // place, `below` says where its next child goes.
    for (std::uint32_t w = 0; w < count; ++w) {
      const auto nodes = below[w];
      const auto place = w == 0 ? 0 : below[idom[w]];
      if (w != 0) below[idom[w]] += nodes;
      below[w] = place + 1;
      made.order[place] = found.vertex[w];
      made.subtree[place] = nodes;
      made.dominator[found.vertex[w]] = found.vertex[idom[w]];
    }
  }
  made.retained.assign(graph.nodes(), 0);
  for (std::uint32_t object = 0; object < graph.objects(); ++object)
    made.retained[object] = graph.heap().size_of(object);
  for (auto at = made.order.size(); at-- > 1;)
    made.retained[made.dominator[made.order[at]]] += made.retained[made.order[at]];
  return made;
}

}  // namespace clrscope::analyze
