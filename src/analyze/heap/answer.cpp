#include "analyze/heap/answer.h"

namespace clrscope::analyze {

std::span<const std::string_view> names_of(HeapNodeKind) {
  static constexpr std::string_view kNames[] = {"heap", "root", "shared", "objects", "rest"};
  return kNames;
}

const Shape& shape_of(const HeapTypeRow*) {
  using R = HeapTypeRow;
  static const auto shape = describe<R>(
      "HeapType", "Objects of one type on the managed heap",
      {member<&R::type>("type", "type name"), member_unless_empty<&R::module>("module", "assembly"),
       member<&R::count>("count", "objects"),
       member<&R::bytes>("bytes", Unit::kBytes, "size of the objects themselves"),
       member<&R::retained>("retainedBytes", Unit::kBytes,
                            "what would be freed if all objects of the type were gone; absent if "
                            "references are unknown")});
  return shape;
}

const Shape& shape_of(const HeapGenerationRow*) {
  using R = HeapGenerationRow;
  static const auto shape = describe<R>(
      "HeapGeneration", "One generation of the managed heap",
      {member<&R::generation>("generation", "generation"),
       member<&R::segments>("segments", "segments or regions"),
       member<&R::objects>("objects", "objects"),
       member<&R::bytes>("bytes", Unit::kBytes, "size of the objects"),
       member<&R::committed>("committedBytes", Unit::kBytes, "memory taken from the system"),
       member<&R::free>("freeBytes", Unit::kBytes, "free space between objects"),
       member<&R::largest_free>("largestFreeBytes", Unit::kBytes, "largest piece of it"),
       member<&R::fragmentation>("fragmentation", Unit::kPercent,
                                 "share of free space in what is in use")});
  return shape;
}

const Shape& shape_of(const HeapRootRow*) {
  using R = HeapRootRow;
  static const auto shape = describe<R>(
      "HeapRoot", "A root and what it keeps alive",
      {member<&R::kind>("kind", "kind of root"), member<&R::name>("name", "field, frame or handle"),
       member<&R::objects>("objects", "objects that it refers to"),
       member<&R::retained>("retainedBytes", Unit::kBytes, "what only this root keeps alive"),
       member<&R::retained_objects>("retainedObjects", "objects that only this root keeps alive"),
       member_unless_empty<&R::type>("type", "type of the object that retains most of it")});
  return shape;
}

const Shape& shape_of(const HeapRootKindRow*) {
  using R = HeapRootKindRow;
  static const auto shape = describe<R>(
      "HeapRootKind", "All roots of one kind",
      {member<&R::kind>("kind", "kind of root"), member<&R::roots>("roots", "number of roots"),
       member<&R::retained>("retainedBytes", Unit::kBytes,
                            "what single roots of this kind keep alive, added up")});
  return shape;
}

const Shape& shape_of(const HeapNode*) {
  using N = HeapNode;
  static const auto shape = describe<N>(
      "HeapNode", "A node of the dominator tree; objects of one type under one parent are joined",
      {member<&N::parent>("parent", "index of its parent; the first node is its own"),
       member<&N::kind>("kind",
                        "heap: everything; root: one root; shared: kept alive by several roots; "
                        "objects: of one type; rest: too small or too deep to show"),
       member<&N::name>("name", "name of the root or the type"),
       member<&N::root>("root", "kind of root"), member<&N::count>("count", "objects"),
       member<&N::bytes>("bytes", Unit::kBytes, "size of these objects themselves"),
       member<&N::retained>("retainedBytes", Unit::kBytes, "with all that they keep alive")});
  return shape;
}

const Shape& shape_of(const HeapStringRow*) {
  using R = HeapStringRow;
  static const auto shape = describe<R>(
      "HeapString", "Strings with the same value",
      {member<&R::value>("value", "its beginning"),
       member<&R::length>("length", "characters (UTF-16)"),
       member<&R::count>("count", "strings with this value"),
       member<&R::bytes>("bytes", Unit::kBytes, "size of all of them"),
       member<&R::wasted>("wastedBytes", Unit::kBytes, "what a single copy would save")});
  return shape;
}

const Shape& shape_of(const HeapHandleRow*) {
  using H = HeapHandleRow;
  static const auto shape =
      describe<H>("HeapHandles", "GC handles of one kind",
                  {member<&H::kind>("kind", "strong, pinned, weak, dependent, …"),
                   member<&H::count>("count", "handles")});
  return shape;
}

const Shape& shape_of(const HeapStep*) {
  using S = HeapStep;
  static const auto shape = describe<S>(
      "HeapStep", "One step of a path from a root: the root first, then objects",
      {member<&S::root>("root", "kind of root; absent: an object"),
       member<&S::name>("name", "name of the root, or type of the object"),
       member_unless_empty<&S::address>("address", "of the object, if it is one"),
       member<&S::times>("times", "how many steps of the same type follow each other")});
  return shape;
}

const Shape& shape_of(const HeapPath*) {
  using P = HeapPath;
  static const auto shape =
      describe<P>("HeapPath", "Shortest paths from one root over the same types",
                  {member<&P::count>("count", "objects at the end of such a path"),
                   member<&P::bytes>("bytes", Unit::kBytes, "size of these objects"),
                   member<&P::steps>("steps", "the root, then one object type after the other")});
  return shape;
}

const Shape& shape_of(const HeapSummary*) {
  using S = HeapSummary;
  static const auto shape = describe<S>(
      "HeapSummary", "Where a snapshot of a managed heap came from, and how large it is",
      {member_unless_empty<&S::recording>("recording", "id of the stored snapshot"),
       member<&S::pid>("pid", "process id; 0: unknown"), member<&S::name>("name", "process name"),
       member<&S::runtime>("runtime", "version of .NET"),
       member<&S::source>("source",
                          "snapshot: a frozen copy of the process; core; events: the "
                          "runtime's own, over the diagnostic port; file"),
       member<&S::taken>("taken", "time of the snapshot"),
       member<&S::pause>("pauseMs", "how long the process stood still"),
       member<&S::took>("tookMs", "how long it took to read"),
       member<&S::server_gc>("serverGc", "server garbage collection"),
       member<&S::objects>("objects", "objects on the heap"),
       member<&S::bytes>("bytes", Unit::kBytes, "their size"),
       member<&S::unreachable_objects>("unreachableObjects",
                                       "objects that nothing refers to any more; absent if "
                                       "references are unknown"),
       member<&S::unreachable_bytes>("unreachableBytes", Unit::kBytes, "their size")});
  return shape;
}

const Shape& shape_of(const HeapAnswer*) {
  using A = HeapAnswer;
  static const auto shape = describe<A>(
      "Heap", "The managed heap of a process at one moment: what is on it and what keeps it alive",
      {members_of<&A::heap>(),
       member<&A::committed>("committedBytes", Unit::kBytes, "memory taken from the system"),
       member<&A::free>("freeBytes", Unit::kBytes, "free space between objects"),
       member<&A::generations>("generations", "by generation"),
       member<&A::all_types>("allTypes", "number of types"),
       member<&A::types>("types", "types, most bytes first; at most the number asked for"),
       member<&A::roots>("roots", "roots, most retained first"),
       member<&A::root_kinds>("rootKinds", "roots by kind"),
       member<&A::dominators>("dominators", "dominator tree, cut: for a treemap"),
       member<&A::strings>("strings", "duplicate strings, most wasted bytes first"),
       member<&A::wasted_by_strings>("wastedStringBytes", Unit::kBytes,
                                     "what single copies of these strings would save"),
       member<&A::handles>("handles", "GC handles by kind; empty if unknown"),
       member<&A::pinned_objects>("pinnedObjects", "objects that pinned handles refer to"),
       member<&A::pinned_bytes>("pinnedBytes", Unit::kBytes, "their size"),
       member<&A::finalizable>("finalizable", "objects with a finalizer that is not due yet"),
       member<&A::to_finalize>("toFinalize", "objects that wait for their finalizer to run"),
       member<&A::unread_bytes>("unreadBytes", Unit::kBytes, "memory that could not be walked"),
       member<&A::unresolved_edges>("unresolvedReferences", "references to no known object"),
       member<&A::notes>("notes", "what could not be seen, and why")});
  return shape;
}

const Shape& shape_of(const HeapInstance*) {
  using I = HeapInstance;
  static const auto shape = describe<I>(
      "HeapInstance", "One object",
      {member<&I::address>("address", "its address"),
       member<&I::bytes>("bytes", Unit::kBytes, "its size"),
       member<&I::retained>("retainedBytes", Unit::kBytes, "with all that it alone keeps alive"),
       member<&I::generation>("generation", "generation"),
       member<&I::path>("path", "a shortest path from a root; empty: nothing keeps it alive")});
  return shape;
}

const Shape& shape_of(const HeapTypeGeneration*) {
  using G = HeapTypeGeneration;
  static const auto shape = describe<G>(
      "HeapTypeGeneration", "Objects of a type in one generation",
      {member<&G::generation>("generation", "generation"), member<&G::count>("count", "objects"),
       member<&G::bytes>("bytes", Unit::kBytes, "their size")});
  return shape;
}

const Shape& shape_of(const HeapTypeAnswer*) {
  using A = HeapTypeAnswer;
  static const auto shape = describe<A>(
      "HeapInstances", "The objects of one type and what keeps them alive",
      {member<&A::heap>("heap", "the snapshot"), member<&A::type>("type", "what was asked for"),
       member<&A::types>("types", "types whose names match"),
       member<&A::count>("count", "objects of these types"),
       member<&A::bytes>("bytes", Unit::kBytes, "their size"),
       member<&A::retained>("retainedBytes", Unit::kBytes,
                            "what would be freed if all of them were gone"),
       member<&A::unreachable>("unreachable", "of these, objects that nothing refers to any more"),
       member<&A::generations>("generations", "by generation"),
       member<&A::paths>("paths", "what keeps them alive, most objects first"),
       member<&A::all_paths>("allPaths", "number of different paths"),
       member<&A::instances>("instances", "single objects, most retained first"),
       member<&A::notes>("notes", "what could not be seen, and why")});
  return shape;
}

const Shape& shape_of(const HeapNeighbour*) {
  using N = HeapNeighbour;
  static const auto shape = describe<N>(
      "HeapNeighbour", "An object that refers to another one, or is referred to",
      {member<&N::address>("address", "its address"), member<&N::type>("type", "type name"),
       member<&N::bytes>("bytes", Unit::kBytes, "its size"),
       member<&N::retained>("retainedBytes", Unit::kBytes, "with all that it alone keeps alive")});
  return shape;
}

const Shape& shape_of(const HeapObjectAnswer*) {
  using A = HeapObjectAnswer;
  static const auto shape = describe<A>(
      "HeapObject", "One object, what it refers to and what refers to it",
      {member<&A::heap>("heap", "the snapshot"), member<&A::address>("address", "its address"),
       member<&A::type>("type", "type name"), member_unless_empty<&A::module>("module", "assembly"),
       member<&A::bytes>("bytes", Unit::kBytes, "its size"),
       member<&A::retained>("retainedBytes", Unit::kBytes, "with all that it alone keeps alive"),
       member<&A::generation>("generation", "generation"),
       member<&A::reachable>("reachable", "whether something keeps it alive"),
       member<&A::path>("path", "a shortest path from a root"),
       member<&A::dominator>("dominator", "the object that alone keeps it alive, if there is one"),
       member<&A::all_references>("allReferences", "objects that it refers to"),
       member<&A::references>("references", "the ones that retain most"),
       member<&A::all_referrers>("allReferrers", "objects that refer to it"),
       member<&A::referrers>("referrers", "the ones that retain most")});
  return shape;
}

const Shape& shape_of(const HeapDiffRow*) {
  using R = HeapDiffRow;
  static const auto shape = describe<R>(
      "HeapTypeChange", "Objects of one type in two snapshots",
      {member<&R::type>("type", "type name"), member_unless_empty<&R::module>("module", "assembly"),
       member<&R::count_before>("countBefore", "objects in the earlier snapshot"),
       member<&R::count_after>("countAfter", "objects in the later one"),
       member<&R::count_change>("countChange", "growth"),
       member<&R::bytes_before>("bytesBefore", Unit::kBytes, "their size in the earlier snapshot"),
       member<&R::bytes_after>("bytesAfter", Unit::kBytes, "in the later one"),
       member<&R::bytes_change>("bytesChange", Unit::kBytes, "growth"),
       member<&R::retained_before>("retainedBytesBefore", Unit::kBytes,
                                   "retained in the earlier snapshot"),
       member<&R::retained_after>("retainedBytesAfter", Unit::kBytes, "in the later one"),
       member<&R::retained_change>("retainedBytesChange", Unit::kBytes, "growth")});
  return shape;
}

const Shape& shape_of(const HeapRootDiffRow*) {
  using R = HeapRootDiffRow;
  static const auto shape = describe<R>(
      "HeapRootChange", "What one root keeps alive in two snapshots",
      {member<&R::kind>("kind", "kind of root"), member<&R::name>("name", "field, frame or handle"),
       member<&R::retained_before>("retainedBytesBefore", Unit::kBytes,
                                   "retained in the earlier snapshot"),
       member<&R::retained_after>("retainedBytesAfter", Unit::kBytes, "in the later one"),
       member<&R::retained_change>("retainedBytesChange", Unit::kBytes, "growth")});
  return shape;
}

const Shape& shape_of(const HeapDiffAnswer*) {
  using A = HeapDiffAnswer;
  static const auto shape =
      describe<A>("HeapDiff", "What changed between two snapshots of a managed heap",
                  {member<&A::before>("before", "the earlier snapshot"),
                   member<&A::after>("after", "the later snapshot"),
                   member<&A::objects_change>("objectsChange", "growth"),
                   member<&A::bytes_change>("bytesChange", Unit::kBytes, "growth"),
                   member<&A::all_types>("allTypes", "number of types that differ"),
                   member<&A::types>("types", "types that differ, most growth first"),
                   member<&A::roots>("roots", "roots that retain more or less, most growth first"),
                   member<&A::notes>("notes", "what could not be seen, and why")});
  return shape;
}

}  // namespace clrscope::analyze
