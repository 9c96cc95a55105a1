// The objects of a HeapGraph and their fields, by number. For what looks at many objects of few
// types: what a type is and where its fields are is found out once.
//
// Fields come from the runtime's type information; every value read may be garbage. Belongs to one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inspect/memory.h"
#include "inspect/runtime_reader.h"
#include "model/heap.h"

namespace clrscope::inspect {

class HeapView {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // All outlive the view.
  HeapView(Target& target, RuntimeReader& reader, const HeapGraph& graph)
      : memory_(target.memory()), reader_(reader), graph_(graph), infos_(graph.types.size()) {}

  const HeapGraph& graph() const { return graph_; }
  Memory& memory() { return memory_; }

  // The object that begins at this address; kNone: there is none.
  std::uint32_t at(std::uint64_t address) const;
  const std::string& type_name(std::uint32_t object) const {
    return graph_.types[graph_.type_of[object]].name;
  }
  // Null when the runtime does not know it.
  const TypeInfo* type(std::uint32_t type);
  const TypeInfo* type_of(std::uint32_t object) { return type(graph_.type_of[object]); }

  template <class T>
  std::optional<T> field(std::uint32_t object, std::string_view name) {
    const auto* info = type_of(object);
    const auto* found = info ? info->field(name) : nullptr;
    return found ? memory_.get<T>(graph_.addresses[object] + found->offset) : std::nullopt;
  }
  // The object that the field refers to; kNone: null, unreadable, or no object.
  std::uint32_t reference(std::uint32_t object, std::string_view name) {
    return at(field<std::uint64_t>(object, name).value_or(0));
  }
  // The text of a string object, at most `most` UTF-16 units of it.
  std::string text(std::uint32_t string, std::size_t most = 2048);
  // The last type argument of a generic type, as the runtime keeps it; null: none, or not as
  // expected.
  const TypeInfo* last_argument(const TypeInfo& type);

 private:
  struct Info {
    bool asked = false;
    std::optional<TypeInfo> type{};
  };

  Memory memory_;
  RuntimeReader& reader_;
  const HeapGraph& graph_;
  std::vector<Info> infos_;                            // by type
  std::unordered_map<std::uint64_t, Info> arguments_;  // by method table
};

}  // namespace clrscope::inspect
