// Managed objects in the target's memory, by address and by the names of their fields.
//
// Any word may be asked about: what is no object has no type. Offsets come from the runtime's own
// type information, never from here. Belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inspect/memory.h"
#include "inspect/runtime_reader.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

class Objects {
 public:
  // All outlive the object.
  Objects(Target& target, RuntimeReader& reader, const Walker& walker)
      : memory_(target.memory()), reader_(reader), walker_(walker) {}

  // It lies where objects may lie.
  bool may_be_object(std::uint64_t address) const;
  // Null when there is no object.
  const TypeInfo* type_of(std::uint64_t object);
  std::string type_name(std::uint64_t object);
  // By the runtime's handle of the type; null when it is none.
  const TypeInfo* type_of_table(std::uint64_t table);

  template <class T>
  std::optional<T> field(std::uint64_t object, std::string_view name) {
    const auto* type = type_of(object);
    const auto* found = type ? type->field(name) : nullptr;
    return found ? memory_.get<T>(object + found->offset) : std::nullopt;
  }
  // 0 when there is none, or null.
  std::uint64_t reference(std::uint64_t object, std::string_view name) {
    return field<std::uint64_t>(object, name).value_or(0);
  }
  // Elements of an array or characters of a string.
  std::optional<std::uint32_t> length(std::uint64_t array);
  // Objects that this one may refer to: every word of it that is one's address, at most `most`.
  std::vector<std::uint64_t> references(std::uint64_t object, std::size_t most);
  // The word before the object: its thin lock, or the number of its sync block.
  std::optional<std::uint32_t> header(std::uint64_t object) {
    return memory_.get<std::uint32_t>(object - 4);
  }

  Memory& memory() { return memory_; }
  // An object that a [ThreadStatic] field of the thread refers to, by its type; 0: none, or
  // unknown.
  std::uint64_t thread_static(const RuntimeThread& thread, std::string_view type_name);
  // The target went on; types stay as they are.
  void forget() { memory_.forget(); }

 private:
  Memory memory_;
  RuntimeReader& reader_;
  const Walker& walker_;
  std::unordered_map<std::uint64_t, std::optional<TypeInfo>> types_;  // by method table
};

}  // namespace clrscope::inspect
