// For tests, the fuzz target's corpus and the benchmark: heaps, and files of them.
#pragma once

#include <string>

#include "gcdump/gcdump.h"

namespace clrscope::gcdump {

inline void add_object(HeapGraph& graph, std::uint32_t type, std::uint64_t size,
                       std::initializer_list<std::uint32_t> children = {}) {
  if (graph.first_edge.empty()) graph.first_edge.push_back(0);
  const auto number = graph.objects();
  graph.addresses.push_back(0x7f0000001000 + number * 0x40ULL);
  graph.type_of.push_back(type);
  const bool huge = size >= HeapGraph::kHuge;
  if (huge) graph.huge_sizes[number] = size;
  graph.sizes.push_back(huge ? HeapGraph::kHuge : static_cast<std::uint32_t>(size));
  graph.edges.insert(graph.edges.end(), children);
  graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
}

// Everything that a heap can have: a cycle, roots of all kinds, types of the same name, large ones.
inline HeapSnapshot small_heap() {
  HeapSnapshot heap{.pid = 4312, .name = "Shop", .runtime = "10.0.12"};
  heap.taken = std::chrono::system_clock::time_point{std::chrono::seconds{1'790'000'000}};
  heap.took = std::chrono::milliseconds{12};
  heap.pause = std::chrono::milliseconds{3};
  heap.server_gc = true;
  heap.unresolved_edges = 2;
  heap.unread_bytes = 4096;
  heap.to_finalize = 7;
  heap.notes = {"A note."};
  heap.handles = {{"strong", 12}, {"weak short", 3}};
  auto& graph = heap.graph;
  graph.types = {{"Shop.Cart", "Shop.Core", 0x7f1000},
                 {"System.Collections.Generic.List`1[Shop.Cart]", "System.Private.CoreLib", 1},
                 {"System.Byte[]", "System.Private.CoreLib", 2},
                 {"Shop.Cart", "Shop.Core", 3},  // of another load context
                 {"Shop.Größe\xf0\x9f\x9b\x92", "", 0},
                 {"Shop.Unused", "Shop.Core", 4}};
  add_object(graph, 0, 24, {1, 2});
  add_object(graph, 1, 32, {0, 0, 4});  // a cycle, and the same twice
  add_object(graph, 2, 5'000'000'000, {});
  add_object(graph, 3, 40, {3});  // itself
  add_object(graph, 2, 3'000'000'000, {});
  add_object(graph, 4, 24, {});
  graph.root_names = {"", "Shop.Cart.s_all", "thread 31: Shop.Place", "local vars", "static var x"};
  graph.roots = {{1, RootKind::kStatic, 1},         {0, RootKind::kThreadStatic, 1},
                 {3, RootKind::kStack, 2},          {3, RootKind::kStack, 2},
                 {2, RootKind::kStrongHandle, 0},   {2, RootKind::kPinnedHandle, 3},
                 {5, RootKind::kRefCountHandle, 0}, {0, RootKind::kFinalizer, 0},
                 {4, RootKind::kOther, 4},          {1, RootKind::kStatic, 0}};
  heap.segments = {
      {.start = 0x7f0000001000,
       .end = 0x7f0000001100,
       .committed = 0x1000,
       .generation = HeapGeneration::kGen0,
       .heap = 1,
       .objects = 4,
       .object_bytes = 136,
       .free_bytes = 100,
       .largest_free = 50},
      {.start = 0x7f0000001100, .end = 0x7f0000002000, .generation = HeapGeneration::kFrozen}};
  return heap;
}

inline std::string file_of(const HeapSnapshot& heap) {
  std::string file;
  CHECK(write_gcdump(heap, [&](Bytes bytes) -> Result<> {
    file += as_text(bytes);
    return {};
  }));
  return file;
}

}  // namespace clrscope::gcdump
