// What clrscope answers about a managed heap: the whole, the instances of one type, one object, and
// the difference of two heaps. Data and its description; report.h makes it.
//
// Addresses are text, "0x7f3a10": numbers in JSON lose digits above 2^53.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/shape.h"
#include "model/heap.h"

namespace clrscope::analyze {

// Objects of one type. Retained: what would be freed if all objects of the type were gone.
struct HeapTypeRow {
  std::string type{};
  std::string module{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> retained{};  // empty: references are unknown
};
const Shape& shape_of(const HeapTypeRow*);

struct HeapGenerationRow {
  HeapGeneration generation = HeapGeneration::kUnknown;
  std::uint64_t segments = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t committed = 0;
  std::uint64_t free = 0;
  std::uint64_t largest_free = 0;
  double fragmentation = 0;  // percent of what is in use
};
const Shape& shape_of(const HeapGenerationRow*);

// All roots of one kind and name.
struct HeapRootRow {
  RootKind kind = RootKind::kOther;
  std::string name{};
  std::uint64_t objects = 0;   // that it refers to
  std::uint64_t retained = 0;  // what only this root keeps alive
  std::uint64_t retained_objects = 0;
  std::string type{};  // of the object that retains most of it
};
const Shape& shape_of(const HeapRootRow*);

struct HeapRootKindRow {
  RootKind kind = RootKind::kOther;
  std::uint64_t roots = 0;
  std::uint64_t retained = 0;  // what only roots of these names keep alive, each for itself
};
const Shape& shape_of(const HeapRootKindRow*);

enum class HeapNodeKind : std::uint8_t {
  kHeap,     // the first node: everything reachable
  kRoot,     // a root by its name
  kShared,   // what more than one root keeps alive
  kObjects,  // objects of one type that the same parent keeps alive
  kRest,     // what is too small to show, or too deep
};
std::span<const std::string_view> names_of(HeapNodeKind);

// A node of the dominator tree, objects of one type under one parent joined. A parent comes before
// its children; the first node is its own parent.
struct HeapNode {
  std::uint32_t parent = 0;
  HeapNodeKind kind = HeapNodeKind::kObjects;
  std::string name{};  // of the root or the type
  std::optional<RootKind> root{};
  std::uint64_t count = 0;     // objects
  std::uint64_t bytes = 0;     // of these objects themselves
  std::uint64_t retained = 0;  // with all that they keep alive
};
const Shape& shape_of(const HeapNode*);

struct HeapStringRow {
  std::string value{};  // its beginning
  std::uint32_t length = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wasted = 0;  // what one copy would save
};
const Shape& shape_of(const HeapStringRow*);

struct HeapHandleRow {
  std::string kind{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const HeapHandleRow*);

// One step of a path from a root: the root, or an object; equal steps in a row are joined.
struct HeapStep {
  std::optional<RootKind> root{};
  std::string name{};     // of the root or the type
  std::string address{};  // empty: of a root, or several objects
  std::uint64_t times = 1;
};
const Shape& shape_of(const HeapStep*);

// Paths with the same root and types, shortest ones, root first.
struct HeapPath {
  std::uint64_t count = 0;  // objects at its end
  std::uint64_t bytes = 0;
  std::vector<HeapStep> steps{};
};
const Shape& shape_of(const HeapPath*);

struct HeapSummary {
  std::string recording{};  // id of the snapshot in the archive; empty: it was not kept
  pid_t pid = 0;
  std::string name{};
  std::string runtime{};
  HeapSource source = HeapSource::kTwin;
  std::optional<WallTime> taken{};
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds took{};
  bool server_gc = false;
  std::uint64_t objects = 0;  // all of them
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> unreachable_objects{};  // wait for the next collection
  std::optional<std::uint64_t> unreachable_bytes{};
};
const Shape& shape_of(const HeapSummary*);

struct HeapAnswer {
  HeapSummary heap{};
  std::uint64_t committed = 0;
  std::uint64_t free = 0;
  std::vector<HeapGenerationRow> generations{};
  std::uint64_t all_types = 0;
  std::vector<HeapTypeRow> types{};  // most bytes first
  std::vector<HeapRootRow> roots{};  // most retained first
  std::vector<HeapRootKindRow> root_kinds{};
  std::vector<HeapNode> dominators{};
  std::vector<HeapStringRow> strings{};
  std::uint64_t wasted_by_strings = 0;
  std::vector<HeapHandleRow> handles{};
  std::optional<std::uint64_t> pinned_objects{};
  std::optional<std::uint64_t> pinned_bytes{};
  std::optional<std::uint64_t> finalizable{};
  std::optional<std::uint64_t> to_finalize{};
  std::uint64_t unread_bytes = 0;
  std::uint64_t unresolved_edges = 0;
  std::vector<std::string> notes{};
};
const Shape& shape_of(const HeapAnswer*);

struct HeapInstance {
  std::string address{};
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> retained{};
  HeapGeneration generation = HeapGeneration::kUnknown;
  std::vector<HeapStep> path{};  // empty: nothing keeps it alive, or unknown
};
const Shape& shape_of(const HeapInstance*);

struct HeapTypeGeneration {
  HeapGeneration generation = HeapGeneration::kUnknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
const Shape& shape_of(const HeapTypeGeneration*);

// The objects of one type, or of all types whose names match.
struct HeapTypeAnswer {
  HeapSummary heap{};
  std::string type{};  // as it was asked for
  std::vector<HeapTypeRow> types{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> retained{};
  std::uint64_t unreachable = 0;  // of these objects
  std::vector<HeapTypeGeneration> generations{};
  std::vector<HeapPath> paths{};  // most objects first
  std::uint64_t all_paths = 0;
  std::vector<HeapInstance> instances{};  // most retained first
  std::vector<std::string> notes{};
};
const Shape& shape_of(const HeapTypeAnswer*);

struct HeapNeighbour {
  std::string address{};
  std::string type{};
  std::uint64_t bytes = 0;
  std::uint64_t retained = 0;
};
const Shape& shape_of(const HeapNeighbour*);

// One object, for a walk from object to object.
struct HeapObjectAnswer {
  HeapSummary heap{};
  std::string address{};
  std::string type{};
  std::string module{};
  std::uint64_t bytes = 0;
  std::uint64_t retained = 0;
  HeapGeneration generation = HeapGeneration::kUnknown;
  bool reachable = false;
  std::vector<HeapStep> path{};
  std::optional<HeapNeighbour> dominator{};  // empty: a root, or several
  std::uint64_t all_references = 0;
  std::vector<HeapNeighbour> references{};  // what it refers to, most retained first
  std::uint64_t all_referrers = 0;
  std::vector<HeapNeighbour> referrers{};  // what refers to it
};
const Shape& shape_of(const HeapObjectAnswer*);

// One type in two snapshots.
struct HeapDiffRow {
  std::string type{};
  std::string module{};
  std::uint64_t count_before = 0, count_after = 0;
  std::int64_t count_change = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;
  std::int64_t bytes_change = 0;
  std::optional<std::uint64_t> retained_before{}, retained_after{};
  std::optional<std::int64_t> retained_change{};
};
const Shape& shape_of(const HeapDiffRow*);

// One root in two snapshots.
struct HeapRootDiffRow {
  RootKind kind = RootKind::kOther;
  std::string name{};
  std::uint64_t retained_before = 0, retained_after = 0;
  std::int64_t retained_change = 0;
};
const Shape& shape_of(const HeapRootDiffRow*);

struct HeapDiffAnswer {
  HeapSummary before{}, after{};
  std::int64_t objects_change = 0;
  std::int64_t bytes_change = 0;
  std::uint64_t all_types = 0;           // that differ
  std::vector<HeapDiffRow> types{};      // most growth first; those that differ
  std::vector<HeapRootDiffRow> roots{};  // likewise
  std::vector<std::string> notes{};
};
const Shape& shape_of(const HeapDiffAnswer*);

}  // namespace clrscope::analyze
