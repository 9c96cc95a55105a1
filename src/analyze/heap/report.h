// Answers about one heap, and about the difference of two. Pure functions of the snapshot.
//
//   TRY(check_graph(snapshot.graph));
//   const HeapReport report{snapshot};
//   report.answer({});          // the whole
//   report.type("Shop.Order");  // its objects and what keeps them alive
//
// Dominators and paths are computed when they are first needed. The snapshot outlives the report.
// One thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "analyze/heap/answer.h"
#include "analyze/heap/dominators.h"
#include "analyze/heap/graph.h"
#include "analyze/heap/histogram.h"
#include "analyze/heap/paths.h"
#include "analyze/heap/tree.h"
#include "base/result.h"
#include "model/heap.h"

namespace clrscope::analyze {

struct HeapLimits {
  std::size_t types = 1000;
  std::size_t roots = 200;
  std::size_t strings = 100;
  TreeLimits tree{};
};
struct HeapTypeLimits {
  std::size_t instances = 100;
  std::size_t paths = 50;
};

class HeapReport {
 public:
  explicit HeapReport(const HeapSnapshot& snapshot);

  HeapAnswer answer(const HeapLimits& limits) const;
  // The type of that name; or those whose names contain it, or match it (* and ?). kNotFound names
  // the nearest.
  Result<HeapTypeAnswer> type(std::string_view name, const HeapTypeLimits& limits) const;
  // The object at, or around, this address; kNotFound.
  Result<HeapObjectAnswer> object(std::uint64_t address, std::size_t neighbours) const;

  HeapSummary summary() const;
  std::vector<HeapTypeRow> types() const;  // most bytes first
  std::vector<HeapRootRow> roots() const;  // most retained first

  // References and roots are known; otherwise nothing is said of what keeps objects alive.
  bool has_references() const;
  const RootedGraph& graph() const { return graph_; }
  const Dominators& dominators() const;
  const Paths& paths() const;

 private:
  const HeapGraph& heap() const { return snapshot_.graph; }
  HeapNeighbour neighbour(std::uint32_t object) const;
  std::vector<HeapNeighbour> neighbours(std::vector<std::uint32_t> objects, std::size_t most) const;
  std::vector<bool> matching(std::string_view name) const;  // by TypeNames::all
  Failure no_such_type(std::string_view name) const;

  const HeapSnapshot& snapshot_;
  RootedGraph graph_;
  TypeNames names_;
  Generations generations_;
  mutable std::unique_ptr<Dominators> dominators_;
  mutable std::unique_ptr<Paths> paths_;
};

// Types and roots that differ, most growth first.
HeapDiffAnswer diff_heaps(const HeapReport& before, const HeapReport& after, std::size_t most);

}  // namespace clrscope::analyze
