#include "analyze/heap/dominators.h"

#include <algorithm>
#include <utility>

namespace clrscope::analyze {
namespace {

using Numbers = std::vector<std::uint32_t>;
constexpr auto kNone = Dominators::kNone;

// All reachable nodes, numbered in the order in which a depth-first search comes upon them.
struct Search {
  Numbers vertex;  // by number: the node
  Numbers parent;  // by number: the number it was found from
  Numbers number;  // by node
};

Search search(const RootedGraph& graph) {
  Search found{.vertex = {}, .parent = {}, .number = Numbers(graph.nodes(), kNone)};
  found.vertex.reserve(graph.nodes());
  found.parent.reserve(graph.nodes());
  Numbers next;  // by number: the successor that is looked at next
  next.reserve(graph.nodes());
  const auto enter = [&](std::uint32_t node, std::uint32_t from) {
    const auto number = static_cast<std::uint32_t>(found.vertex.size());
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
    const auto rank = graph.rank(found.vertex[at]);
    while (cursor < successors.size() &&
           (found.number[successors[cursor]] != kNone || !graph.counts(rank, successors[cursor])))
      ++cursor;
    if (cursor < successors.size())
      at = enter(successors[cursor++], at);
    else if (at == 0)
      return found;
    else
      at = found.parent[at];
  }
}

// Predecessors by number, as numbers: all[first[i]] up to all[first[i + 1]].
struct Predecessors {
  Numbers first;
  Numbers all;
};

Predecessors predecessors(const RootedGraph& graph, const Search& found) {
  const auto count = found.vertex.size();
  Predecessors made{.first = Numbers(count + 1), .all = {}};
  const auto for_each = [&](std::uint32_t node, auto&& visit) {
    const auto rank = graph.rank(node);
    for (const auto to : graph.successors(node))
      if (graph.counts(rank, to)) visit(found.number[to]);
  };
  for (const auto node : found.vertex) for_each(node, [&](std::uint32_t to) { ++made.first[to]; });
  std::uint32_t sum = 0;
  for (auto& first : made.first) first = sum += first;  // the end of each; filled backwards
  made.all.resize(sum);
  for (std::uint32_t from = 0; from < count; ++from)
    for_each(found.vertex[from], [&](std::uint32_t to) { made.all[--made.first[to]] = from; });
  return made;
}

// The forest of nodes that are done: what is the least semidominator on the way up?
class Forest {
 public:
  explicit Forest(const Numbers& parent) : ancestor_(parent), label_(parent.size()) {
    for (std::uint32_t i = 0; i < label_.size(); ++i) label_[i] = i;
  }

  void link(std::uint32_t node, std::uint32_t semi) { label_[node] = semi; }

  // Nodes from `linked` on are in the forest. Shortens the way for the next time: goes up with
  // the pointers turned round, and back by them.
  std::uint32_t least(std::uint32_t node, std::uint32_t linked) {
    if (ancestor_[node] < linked) return label_[node];
    auto below = kNone;
    while (ancestor_[node] >= linked) {
      const auto up = std::exchange(ancestor_[node], below);
      below = std::exchange(node, up);
    }
    const auto top = ancestor_[node];
    auto label = label_[node];
    while (below != kNone) {
      label = label_[below] = std::min(label, label_[below]);
      below = std::exchange(ancestor_[below], top);
    }
    return label;
  }

 private:
  Numbers ancestor_;
  Numbers label_;
};

// Immediate dominators by number; takes over `parent`.
Numbers dominators_by_number(Predecessors before, Numbers parent) {
  auto semi = std::move(before.first);  // a list that has been read makes room for its result
  {
    Forest forest{parent};
    auto end = before.all.size();
    for (auto w = static_cast<std::uint32_t>(parent.size()); w-- > 1;) {
      const std::size_t begin = semi[w];
      auto least = parent[w];
      for (auto at = begin; at < end; ++at)
        least = std::min(least, forest.least(before.all[at], w + 1));
      end = begin;
      semi[w] = least;
      forest.link(w, least);
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
