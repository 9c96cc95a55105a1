// Static fields that hold objects: what they are called and where they lie.
//
// Types are found through their modules (ordinary ones), through tables of generic types (.NET 10),
// and those that the caller knows. Layout: RuntimeTypeSystem 1; on .NET 9, which tells less of it,
// where 10 has it. Each class's record of statics names its method table, and is believed only
// then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "inspect/contract/descriptor.h"
#include "inspect/contract/modules.h"
#include "inspect/contract/threads.h"
#include "inspect/contract/types.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

class Statics {
 public:
  // Kept in all: memory, modules and types outlive it.
  Statics(Memory& memory, const Descriptor& descriptor, Modules& modules, Types& types,
          Threads& threads);

  std::vector<StaticField> list(std::span<const std::uint64_t> method_tables,
                                std::span<const RuntimeThread> threads);

 private:
  void add_assemblies();
  void add_module(std::uint64_t module);
  void add_type_definitions(std::uint64_t module);
  void add_generic_types(std::uint64_t module);
  void add_type(std::uint64_t method_table);
  void add_fields(std::uint64_t method_table);
  void add_thread_fields(std::uint64_t method_table, const std::string& field_name,
                         std::uint32_t offset);
  std::uint64_t thread_base(const RuntimeThread& thread, std::uint32_t index);

  Memory& memory_;
  const Descriptor& descriptor_;
  Modules& modules_;
  Types& types_;
  Threads& store_;
  std::span<const RuntimeThread> threads_;
  std::unordered_set<std::uint64_t> seen_modules_, seen_types_;
  std::vector<StaticField> found_;
};

}  // namespace clrscope::inspect
