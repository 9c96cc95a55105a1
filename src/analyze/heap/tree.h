// The dominator tree for people: under each root, the objects that it alone keeps alive, joined by
// type: "Shop.Cart.s_all > List > Order[] > 100,000 x Order".
#pragma once

#include <vector>

#include "analyze/heap/answer.h"
#include "analyze/heap/dominators.h"
#include "analyze/heap/histogram.h"

namespace clrscope::analyze {

struct TreeLimits {
  std::uint32_t depth = 12;    // levels of objects
  double least_share = 0.001;  // of what is reachable; smaller ones become the rest
  std::size_t nodes = 2000;    // the largest ones
};

// A parent before its children, children in the order of what they retain, rests last.
std::vector<HeapNode> dominator_tree(const RootedGraph& graph, const TypeNames& names,
                                     const Dominators& dominators, const TreeLimits& limits);

}  // namespace clrscope::analyze
