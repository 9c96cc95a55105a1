#include "analyze/heap/dominators.h"

#include <gmock/gmock.h>

#include <set>

#include "analyze/heap/histogram.h"
#include "analyze/heap/test_heap.h"

namespace clrscope::analyze {
namespace {

using Nodes = std::set<std::uint32_t>;

// By node: the rank of the best root that reaches it.
std::vector<std::uint8_t> ranks_of(const RootedGraph& graph) {
  std::vector<std::uint8_t> ranks(graph.nodes(), RootedGraph::kRanks);
  ranks[graph.top()] = 0;
  const auto spread = [&](auto&& self, std::uint32_t node, std::uint8_t rank) -> void {
    if (ranks[node] <= rank) return;
    ranks[node] = rank;
    for (const auto to : graph.successors(node)) self(self, to, rank);
  };
  for (auto node = graph.objects(); node < graph.top(); ++node)
    spread(spread, node, RootedGraph::rank_of(graph.root(node).kind));
  return ranks;
}

// What the top reaches without passing `without`, by references that count.
Nodes reached(const RootedGraph& graph, const Nodes& without) {
  const auto ranks = ranks_of(graph);
  Nodes seen;
  std::vector<std::uint32_t> todo;
  const auto visit = [&](std::uint32_t node) {
    if (!without.contains(node) && seen.insert(node).second) todo.push_back(node);
  };
  visit(graph.top());
  while (!todo.empty()) {
    const auto node = todo.back();
    todo.pop_back();
    for (const auto to : graph.successors(node))
      if (!graph.is_object(to) || ranks[to] >= ranks[node]) visit(to);
  }
  return seen;
}

std::uint64_t bytes_of(const RootedGraph& graph, const Nodes& nodes) {
  std::uint64_t bytes = 0;
  for (const auto node : nodes)
    if (graph.is_object(node)) bytes += graph.heap().size_of(node);
  return bytes;
}

// The nodes that `node` dominates, itself included: what is out of reach without it.
Nodes dominated_by(const RootedGraph& graph, std::uint32_t node) {
  Nodes lost;
  const auto all = reached(graph, {});
  const auto left = reached(graph, {node});
  std::ranges::set_difference(all, left, std::inserter(lost, lost.end()));
  return lost;
}

TEST(Dominators, EqualBruteForceOnRandomHeaps) {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto heap = random_heap(seed);
    const RootedGraph graph{heap.graph};
    const auto tree = find_dominators(graph);
    const auto all = reached(graph, {});
    std::vector<Nodes> lost(graph.nodes());
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
      ASSERT_EQ(tree.reachable(node), all.contains(node));
      if (!all.contains(node)) continue;
      lost[node] = dominated_by(graph, node);
      ASSERT_EQ(tree.retained[node], bytes_of(graph, lost[node]));
    }
    for (const auto node : all) {
      if (node == graph.top()) continue;
      // Of all that dominate it the immediate one dominates least.
      auto nearest = graph.top();
      for (const auto other : all)
        if (other != node && lost[other].contains(node) &&
            lost[other].size() < lost[nearest].size())
          nearest = other;
      ASSERT_EQ(tree.dominator[node], nearest);
    }
  }
}

TEST(Dominators, OrderHasEverySubtreeInOnePiece) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const auto heap = random_heap(seed);
    const RootedGraph graph{heap.graph};
    const auto tree = find_dominators(graph);
    ASSERT_EQ(tree.order.size(), reached(graph, {}).size());
    for (std::size_t at = 0; at < tree.order.size(); ++at) {
      const Nodes piece{tree.order.begin() + static_cast<std::ptrdiff_t>(at),
                        tree.order.begin() + static_cast<std::ptrdiff_t>(at + tree.subtree[at])};
      ASSERT_EQ(piece, dominated_by(graph, tree.order[at]));
    }
  }
}

TEST(Dominators, TypesRetainWhatTheirObjectsDominate) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto heap = random_heap(seed);
    const RootedGraph graph{heap.graph};
    const auto tree = find_dominators(graph);
    const auto names = join_types(heap.graph);
    const auto rows = count_types(heap.graph, names, &tree);
    for (std::uint32_t type = 0; type < names.all.size(); ++type) {
      Nodes together;
      std::uint64_t unreachable = 0;
      for (std::uint32_t object = 0; object < graph.objects(); ++object) {
        if (heap.graph.type_of[object] != type) continue;
        if (!tree.reachable(object)) unreachable += heap.graph.size_of(object);
        together.merge(dominated_by(graph, object));
      }
      ASSERT_EQ(rows[type].retained, bytes_of(graph, together) + unreachable);
    }
  }
}

TEST(Dominators, OfAnEmptyHeapAreTheTopAlone) {
  const HeapGraph nothing;
  ASSERT_TRUE(check_graph(nothing));
  const RootedGraph graph{nothing};
  const auto tree = find_dominators(graph);
  EXPECT_THAT(tree.order, testing::ElementsAre(graph.top()));
  EXPECT_EQ(tree.retained[graph.top()], 0U);
}

HeapGraph chain(std::uint32_t objects, bool back_edges) {
  HeapGraph graph;
  graph.types.push_back({.name = "Node"});
  graph.addresses.resize(objects);
  graph.type_of.assign(objects, 0);
  graph.sizes.assign(objects, 24);
  graph.first_edge.push_back(0);
  for (std::uint32_t i = 0; i < objects; ++i) {
    graph.addresses[i] = 0x1000 + 24 * std::uint64_t{i};
    if (i + 1 < objects) graph.edges.push_back(i + 1);
    if (back_edges && i > 1) graph.edges.push_back(i % 3 == 0 ? 1 : i - 1);
    graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  graph.root_names.push_back("Shop.Cart.s_head");
  graph.roots.push_back({0, RootKind::kStatic, 0});
  return graph;
}

TEST(Dominators, OfAListOfFiveMillionObjectsNeedNoStack) {
  constexpr std::uint32_t kObjects = 5'000'000;
  for (const bool back_edges : {false, true}) {
    const auto heap = chain(kObjects, back_edges);
    const RootedGraph graph{heap};
    const auto tree = find_dominators(graph);
    EXPECT_EQ(tree.retained[0], 24ULL * kObjects);
    EXPECT_EQ(tree.retained[kObjects - 1], 24U);
    EXPECT_EQ(tree.dominator[kObjects - 1], kObjects - 2);
    EXPECT_EQ(tree.dominator[1], 0U);
  }
}

TEST(Dominators, SayWhichOfTwoRootsKeepsAnObjectAlive) {
  TestHeap heap;
  const auto mine = heap.add("Mine", 100);
  const auto shared = heap.add("Shared", 50);
  const auto other = heap.add("Other", 30);
  heap.refer(mine, shared);
  heap.refer(other, shared);
  heap.root(mine, RootKind::kStatic, "A.s_mine");
  heap.root(other, RootKind::kStatic, "A.s_other");
  const RootedGraph graph{heap.made().graph};
  const auto tree = find_dominators(graph);
  EXPECT_EQ(tree.dominator[shared], graph.top());
  EXPECT_EQ(tree.retained[mine], 100U);
  EXPECT_EQ(graph.name(graph.root(tree.dominator[mine])), "A.s_mine");
}

TEST(Dominators, GiveWhatAStaticFieldReachesToTheFieldAlone) {
  TestHeap heap;
  const auto table = heap.add("System.Object[]");
  const auto list = heap.add("List");
  const auto order = heap.add("Order");
  const auto mine = heap.add("Mine");
  heap.refer(table, list);
  heap.refer(list, order);
  heap.refer(mine, order);
  heap.root(table, RootKind::kStrongHandle, "handle");
  heap.root(list, RootKind::kStatic, "Shop.Cart.s_all");
  heap.root(order, RootKind::kStack, "thread 7: Shop.Place");
  heap.root(mine, RootKind::kStack, "thread 7: Shop.Place");
  const RootedGraph graph{heap.made().graph};
  const auto tree = find_dominators(graph);
  EXPECT_EQ(tree.dominator[order], list);
  EXPECT_EQ(graph.name(graph.root(tree.dominator[list])), "Shop.Cart.s_all");
  EXPECT_EQ(tree.retained[list], 48U);
  EXPECT_EQ(tree.retained[table], 24U);
  EXPECT_EQ(tree.retained[mine], 24U);
}

TEST(HeapGraphCheck, RefusesWhatIsOutOfRange) {
  TestHeap heap;
  heap.refer(heap.add("A"), heap.add("B"));
  heap.root(0, RootKind::kStack, "Main");
  const auto good = heap.made().graph;
  ASSERT_TRUE(check_graph(good));
  const auto refused = [&](auto&& damage) {
    auto bad = good;
    damage(bad);
    const auto checked = check_graph(bad);
    return !checked && checked.error().code == Errc::kCorrupt;
  };
  EXPECT_TRUE(refused([](auto& g) { g.edges[0] = 2; }));
  EXPECT_TRUE(refused([](auto& g) { g.type_of[1] = 7; }));
  EXPECT_TRUE(refused([](auto& g) { g.roots[0].object = 2; }));
  EXPECT_TRUE(refused([](auto& g) { g.first_edge[1] = 9; }));
  EXPECT_TRUE(refused([](auto& g) { g.first_edge.pop_back(); }));
  EXPECT_TRUE(refused([](auto& g) { g.sizes.pop_back(); }));
  EXPECT_TRUE(refused([](auto& g) { g.addresses.clear(); }));
  EXPECT_TRUE(refused([](auto& g) { g.sizes[0] = HeapGraph::kHuge; }));
}

}  // namespace
}  // namespace clrscope::analyze
