// Reads what every object of a walked heap refers to. Internal to heap/.
#pragma once

#include "inspect/heap/method_tables.h"
#include "inspect/heap/object_index.h"
#include "inspect/heap/window.h"

namespace clrscope::inspect {

// More references that the collector knows and no field holds: of a dependent handle's value by its
// key, of a collectible type's assembly by its objects.
struct ExtraEdge {
  std::uint32_t from = 0, to = 0;
};

class References {
 public:
  // All outlive it. `layouts` by number of type.
  References(Target& target, std::span<ObjectLayout* const> layouts, const ObjectIndex& index,
             HeapSnapshot& heap)
      : window_(target.memory()), layouts_(layouts), index_(index), heap_(heap) {}

  // Fills first_edge and edges, and counts what leads nowhere. `extra` in ascending order of from.
  void read(std::span<const ExtraEdge> extra);

 private:
  void add_of(std::uint32_t object);
  void add_row(std::uint64_t from, std::uint64_t until, std::uint64_t end);
  void add(std::uint64_t address) {
    if (address == 0) return;
    const auto number = index_.number_of(address);
    if (number == ObjectIndex::kNone)
      ++heap_.unresolved_edges;
    else
      heap_.graph.edges.push_back(number);
  }

  Window window_;
  std::span<ObjectLayout* const> layouts_;
  const ObjectIndex& index_;
  HeapSnapshot& heap_;
};

}  // namespace clrscope::inspect
