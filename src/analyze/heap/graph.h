// The graph of a heap with its roots as nodes, so that dominators and paths treat them alike:
//
//   node 0 … objects - 1       the objects
//   then one for each root     (roots of the same kind and name are one node)
//   then the top               which refers to all roots
//
// Some roots explain more than others: a static field more than a local variable, that one more
// than a handle. What a better root reaches is explained by it alone: references to it from what
// only lesser roots reach do not count. Otherwise the runtime's own table of static fields, which a
// handle keeps alive, would own half of every object.
//
// Refers to the HeapGraph, which must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/heap.h"

namespace clrscope::analyze {

// kCorrupt unless every index of the graph is in range: graphs come from processes and files.
Result<> check_graph(const HeapGraph& graph);

class RootedGraph {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // `graph` must have passed check_graph().
  explicit RootedGraph(const HeapGraph& graph);

  struct Root {
    RootKind kind = RootKind::kOther;
    std::uint32_t name = 0;   // in HeapGraph::root_names
    std::uint32_t roots = 0;  // that were joined
  };

  const HeapGraph& heap() const { return heap_; }
  std::uint32_t objects() const { return heap_.objects(); }
  std::uint32_t nodes() const { return top() + 1; }
  std::uint32_t top() const { return objects() + static_cast<std::uint32_t>(roots_.size()); }
  bool is_object(std::uint32_t node) const { return node < objects(); }
  bool is_root(std::uint32_t node) const { return node >= objects() && node < top(); }

  // By kind, in the order of RootKind.
  std::span<const Root> roots() const { return roots_; }
  const Root& root(std::uint32_t node) const { return roots_[node - objects()]; }
  std::string_view name(const Root& root) const;

  // How well a root explains what it reaches; less is better. An object has the rank of the best
  // root that reaches it. Roots are in the order of their ranks.
  static std::uint8_t rank_of(RootKind kind);
  static constexpr std::uint8_t kRanks = 4;
  // All of them, also those that do not count.
  std::span<const std::uint32_t> successors(std::uint32_t node) const {
    if (is_object(node)) return heap_.referred_by(node);
    if (node == top()) return root_nodes_;
    const auto root = node - objects();
    return std::span{rooted_}.subspan(first_rooted_[root],
                                      first_rooted_[root + 1] - first_rooted_[root]);
  }

 private:
  const HeapGraph& heap_;
  std::vector<Root> roots_;
  std::vector<std::uint32_t> root_nodes_;    // their node numbers
  std::vector<std::uint32_t> first_rooted_;  // by root
  std::vector<std::uint32_t> rooted_;        // objects
};

}  // namespace clrscope::analyze
