// Objects counted: by type, by generation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/heap/answer.h"
#include "analyze/heap/dominators.h"
#include "analyze/heap/graph.h"

namespace clrscope::analyze {

// Types of the same name and module are one.
struct TypeNames {
  struct Type {
    std::string name{};
    std::string module{};
  };
  std::vector<Type> all{};
  std::vector<std::uint32_t> of_type{};  // by number in HeapGraph::types: index into `all`
};
TypeNames join_types(const HeapGraph& graph);

// By TypeNames::all. Without dominators nothing is retained. An object that another one of the same
// type keeps alive counts once in what the type retains; an unreachable one counts by itself.
std::vector<HeapTypeRow> count_types(const HeapGraph& graph, const TypeNames& names,
                                     const Dominators* dominators);

// Which generation an address is in, by segments.
class Generations {
 public:
  explicit Generations(std::span<const HeapSegment> segments);
  HeapGeneration of(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t start = 0, end = 0;
    HeapGeneration generation{};
  };
  std::vector<Range> ranges_;  // by start
};

// Those that have a segment.
std::vector<HeapGenerationRow> count_generations(std::span<const HeapSegment> segments);

}  // namespace clrscope::analyze
