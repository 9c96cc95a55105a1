// What the events of a heap walk told, put together into a graph: objects sorted by address,
// references from addresses to numbers. Counts what leads nowhere.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/heap.h"

namespace clrscope::analyze {

// Objects in the order in which the walk met them, and all their references one after the other.
struct WalkedHeap {
  struct Root {
    std::uint64_t object = 0;
    RootKind kind = RootKind::kOther;
    std::uint32_t name = 0;
  };
  // References that are missing before the one at `at`.
  struct Gap {
    std::size_t at = 0;
    std::uint64_t lost = 0;
  };

  std::vector<std::uint64_t> addresses{};
  std::vector<std::uint32_t> type_of{};
  std::vector<std::uint32_t> sizes{};
  std::unordered_map<std::uint32_t, std::uint64_t> huge_sizes{};
  std::vector<std::uint32_t> reference_counts{};
  std::vector<std::uint64_t> references{};
  std::vector<Gap> gaps{};
  // From this object on nobody knows which references belong to which: objects are missing.
  std::size_t attributed = SIZE_MAX;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dependent{};  // key, value
  std::vector<Root> roots{};
  std::vector<std::string> root_names{};

  void add(std::uint64_t address, std::uint64_t size, std::uint32_t type,
           std::uint32_t reference_count);
};

struct AssembledHeap {
  HeapGraph graph{};  // without its types
  std::uint64_t unresolved_edges = 0;
  std::uint64_t unresolved_roots = 0;
};

AssembledHeap assemble(WalkedHeap&& walked);

}  // namespace clrscope::analyze
