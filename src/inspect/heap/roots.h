// What keeps the objects of a walked heap alive: static fields, thread statics, stacks, handles,
// the finalizer queue. Internal to heap/.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "inspect/gc_table.h"
#include "inspect/heap/object_index.h"
#include "inspect/heap/references.h"
#include "inspect/runtime_reader.h"
#include "inspect/thread_stacks.h"

namespace clrscope::inspect {

class Roots {
 public:
  // All outlive it.
  Roots(Target& target, RuntimeReader& reader, const GcState& gc, const ObjectIndex& index,
        HeapSnapshot& heap)
      : target_(target),
        reader_(reader),
        gc_(gc),
        index_(index),
        heap_(heap),
        memory_(target.memory()) {}

  // Adds roots, counts of handles and finalizers, and notes; gives the edges that only handles
  // make. `threads` may be empty.
  std::vector<ExtraEdge> find(const std::vector<RuntimeThread>& threads, bool static_names);

 private:
  void add_named_statics();
  void add_thread_statics(const std::vector<RuntimeThread>& threads);
  void add_handles();
  void add_unnamed_statics();
  void add_finalizers();
  void add_frozen();
  void add_stacks(const std::vector<RuntimeThread>& threads);
  void add_stack(const ThreadStack& thread);
  std::string method_at(const unwind::Frame& frame);
  std::uint32_t object_around(std::uint64_t address) const;

  void add(RootKind kind, std::uint32_t object, const std::string& name);
  bool add_address(RootKind kind, std::uint64_t address, const std::string& name);
  void note(std::string_view what, const Error& why);

  Target& target_;
  RuntimeReader& reader_;
  const GcState& gc_;
  const ObjectIndex& index_;
  HeapSnapshot& heap_;
  Memory memory_;
  std::vector<ExtraEdge> extra_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_set<std::uint64_t> static_places_;         // addresses of named static fields
  std::vector<std::uint32_t> held_;                         // objects with a strong handle
  std::unordered_map<std::uint64_t, std::string> methods_;  // by address in code; empty: native
};

}  // namespace clrscope::inspect
