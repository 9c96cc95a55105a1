// Reads the whole managed heap of a frozen twin or a core: every object, reference and root.
//
//   auto twin = TRY(make_twin(pid));
//   auto reader = TRY(open_runtime(*twin.target));
//   auto heap = TRY(read_heap(*twin.target, *reader, {}));
//
// Ranges come from the collector's own table (gc_table.h); objects are walked in bulk reads. A live
// process that runs on cannot be read this way: its heap changes under the walk. What could not be
// walked or named is counted or noted, never guessed.
#pragma once

#include <string_view>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/target.h"
#include "model/heap.h"

namespace clrscope::inspect {

struct HeapOptions {
  bool references = true;  // edges and roots; without: types, sizes and segments only
  // Of a heap without objects of this type no references are read.
  std::string_view only_with_type{};
  bool static_names = true;    // of the static fields among the roots: a fifth of the work
  bool equal_strings = false;  // count equal strings
};

// What a type is called whose name cannot be read.
std::string unnamed_type(std::uint64_t id);
// kTimeout when more than a few types have no name: the process may have been frozen while it
// loaded types, and the next copy can be read. What is looked for by type would be missing without
// a word.
Result<> check_names(const HeapSnapshot& heap);
// The OS id of the thread whose stack a root is on, from the name of the root; nothing: it is none.
std::optional<std::uint32_t> thread_of_root(std::string_view root_name);

Result<HeapSnapshot> read_heap(Target& target, RuntimeReader& reader, const HeapOptions& options);

}  // namespace clrscope::inspect
