// Which object alone keeps which alive: the dominator tree of a heap, and retained sizes.
//
// An object's dominator is the last object, root or top that every path from the top to it passes.
// Retained: an object's own size and that of all it dominates. Semi-NCA (Georgiadis 2005) on flat
// arrays: no recursion, no stack, at most 16 bytes a node and 4 a reference beside the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/heap/graph.h"

namespace clrscope::analyze {

struct Dominators {
  static constexpr std::uint32_t kNone = RootedGraph::kNone;

  // By node; kNone: unreachable. The top is its own.
  std::vector<std::uint32_t> dominator{};
  // By node; of an unreachable object its own size.
  std::vector<std::uint64_t> retained{};
  // The tree in preorder: order[i] dominates the `subtree[i]` nodes from i on, itself included.
  std::vector<std::uint32_t> order{};
  std::vector<std::uint32_t> subtree{};

  bool reachable(std::uint32_t node) const { return dominator[node] != kNone; }
};

Dominators find_dominators(const RootedGraph& graph);

}  // namespace clrscope::analyze
