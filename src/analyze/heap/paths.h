// What keeps an object alive: shortest paths from the roots.
//
// Breadth first from static fields; what these do not reach, from stacks, then from handles, then
// from the rest (RootedGraph::rank). 8 bytes an object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/heap/answer.h"
#include "analyze/heap/graph.h"

namespace clrscope::analyze {

class Paths {
 public:
  explicit Paths(const RootedGraph& graph);

  bool reaches(std::uint32_t object) const { return from_[object] != RootedGraph::kNone; }
  // The root first; empty when nothing keeps it alive.
  std::vector<HeapStep> to(std::uint32_t object) const;

  struct Merged {
    std::vector<HeapPath> paths{};  // most objects first, at most `most`
    std::uint64_t all = 0;          // different ones
    std::uint64_t unreachable = 0;  // objects that have none
  };
  // Paths over the same root and types are one.
  Merged merged(std::span<const std::uint32_t> objects, std::size_t most) const;

 private:
  void search(std::vector<std::uint32_t>& queue);

  const RootedGraph& graph_;
  std::vector<std::uint32_t> from_;  // by object: the node before it
};

// "0x7f3a10".
std::string heap_address(std::uint64_t address);

}  // namespace clrscope::analyze
