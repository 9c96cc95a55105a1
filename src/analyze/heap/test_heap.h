// Small heaps for tests.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/heap.h"

namespace clrscope::analyze {

// A heap of objects that are added one by one, then linked.
class TestHeap {
 public:
  std::uint32_t add(const std::string& type, std::uint32_t size = 24) {
    auto& graph = heap.graph;
    const auto object = graph.objects();
    std::uint32_t number = 0;
    while (number < graph.types.size() && graph.types[number].name != type) ++number;
    if (number == graph.types.size()) graph.types.push_back({.name = type, .module = "Shop"});
    graph.type_of.push_back(number);
    graph.sizes.push_back(size);
    graph.addresses.push_back(graph.addresses.empty() ? 0x1000 : graph.addresses.back() + last_);
    last_ = size;
    return object;
  }
  void refer(std::uint32_t from, std::uint32_t to) { references_.emplace_back(from, to); }
  void root(std::uint32_t object, RootKind kind, const std::string& name) {
    auto& names = heap.graph.root_names;
    std::uint32_t number = 0;
    while (number < names.size() && names[number] != name) ++number;
    if (number == names.size()) names.push_back(name);
    heap.graph.roots.push_back({object, kind, number});
  }
  const HeapSnapshot& made() {
    auto& graph = heap.graph;
    graph.first_edge.assign(graph.objects() + 1, 0);
    graph.edges.clear();
    std::ranges::stable_sort(references_, {}, [](const auto& one) { return one.first; });
    auto next = references_.begin();
    for (std::uint32_t object = 0; object < graph.objects(); ++object) {
      for (; next != references_.end() && next->first == object; ++next)
        graph.edges.push_back(next->second);
      graph.first_edge[object + 1] = static_cast<std::uint32_t>(graph.edges.size());
    }
    return heap;
  }

  HeapSnapshot heap{.pid = 4312, .name = "shop", .runtime = "10.0.0"};

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> references_{};
  std::uint32_t last_ = 0;
};

// Objects of a few types, referring to each other at random; some unreachable, some rooted twice.
inline HeapSnapshot random_heap(std::uint32_t seed) {
  std::mt19937 random{seed};
  const auto below = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(random() % most);
  };
  TestHeap heap;
  const auto objects = 1 + below(30);
  for (std::uint32_t i = 0; i < objects; ++i)
    heap.add("Type" + std::to_string(below(4)), 16 + below(100));
  const auto edges = below(objects * 3);
  for (std::uint32_t i = 0; i < edges; ++i) heap.refer(below(objects), below(objects));
  const auto roots = below(5);
  for (std::uint32_t i = 0; i < roots; ++i)
    heap.root(below(objects), static_cast<RootKind>(below(4)), "root" + std::to_string(below(3)));
  return heap.made();
}

}  // namespace clrscope::analyze
