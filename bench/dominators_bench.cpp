// What it costs to say what keeps a heap alive: dominators_bench [OBJECTS]
//
// A made-up heap: lists of objects with texts, trees, and references between them, two per object.
// Prints processor milliseconds of each step, and the most memory per object, the heap included.
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "analyze/heap/report.h"

namespace {

using namespace clrscope;
using namespace clrscope::analyze;

double now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

HeapSnapshot made_up(std::uint32_t objects) {
  HeapSnapshot heap{.name = "made up"};
  auto& graph = heap.graph;
  constexpr std::uint32_t kTypes = 5000;
  for (std::uint32_t i = 0; i < kTypes; ++i)
    graph.types.push_back({.name = "Shop.Type" + std::to_string(i)});
  graph.addresses.reserve(objects);
  graph.type_of.reserve(objects);
  graph.sizes.reserve(objects);
  graph.first_edge.reserve(objects + std::size_t{1});
  graph.edges.reserve(objects * std::size_t{2});
  graph.first_edge.push_back(0);
  std::mt19937 random{7};
  for (std::uint32_t i = 0; i < objects; ++i) {
    graph.addresses.push_back(0x10000 + std::uint64_t{i} * 48);
    graph.type_of.push_back(i % 3 == 0 ? 0 : static_cast<std::uint32_t>(random() % kTypes));
    graph.sizes.push_back(24 + 8 * (static_cast<std::uint32_t>(random()) % 6));
    // A child of a tree of three below each, and one anywhere near or far.
    const auto child = std::uint64_t{i} * 3 + 1;
    if (child < objects) graph.edges.push_back(static_cast<std::uint32_t>(child));
    if (child + 1 < objects) graph.edges.push_back(static_cast<std::uint32_t>(child + 1));
    if (child + 2 < objects) graph.edges.push_back(static_cast<std::uint32_t>(child + 2));
    if (i % 2 == 0)
      graph.edges.push_back(static_cast<std::uint32_t>(
          random() % 8 == 0 ? random() % objects : (i + random() % 1000) % objects));
    if (i % 2 == 1 && i > 0) graph.edges.push_back(i - 1);
    graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  for (std::uint32_t i = 0; i < 2000; ++i) {
    graph.root_names.push_back("Shop.Cart.s_" + std::to_string(i));
    graph.roots.push_back({static_cast<std::uint32_t>(random() % objects), RootKind::kStatic, i});
  }
  graph.roots.push_back({0, RootKind::kStatic, 0});
  return heap;
}

}  // namespace

int main(int argc, char** argv) {
  const auto objects = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 5'000'000);
  const auto before = peak_bytes();
  const auto heap = made_up(objects);
  const auto time = [](const char* what, auto&& step) {
    const auto start = now_ms();
    step();
    std::printf("%s %.1f ms\n", what, now_ms() - start);
  };
  const HeapReport report{heap};
  time("check", [&] { (void)check_graph(heap.graph); });
  time("histogram", [&] { (void)count_types(heap.graph, join_types(heap.graph), nullptr); });
  time("dominators", [&] { (void)report.dominators(); });
  std::printf("dominators_bytes %.1f bytes\n", (peak_bytes() - before) / objects);
  time("answer", [&] { (void)report.answer({}); });
  time("paths", [&] { (void)report.paths(); });
  time("type", [&] { (void)report.type("Shop.Type0", {}); });
  std::printf("bytes %.1f bytes\n", (peak_bytes() - before) / objects);
  std::printf("edges %.2f per-object\n",
              static_cast<double>(heap.graph.edges.size()) / static_cast<double>(objects));
  return 0;
}
