// Types of a runtime, found from the address of a method table or another type handle.
//
// Any word may be asked about: a method table is one whose class points back to it. Names and
// fields are made once per type. Contract: RuntimeTypeSystem 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/contract/descriptor.h"
#include "inspect/contract/modules.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

class Types {
 public:
  static Result<Types> open(Memory& memory, const Descriptor& descriptor, Modules& modules);

  bool is_method_table(std::uint64_t address);
  // Null when it is no method table. Lives as long as this.
  const TypeInfo* info(std::uint64_t method_table);
  // Of an object: by its method table, without the bits that a collector may have set.
  const TypeInfo* type_of_object(std::uint64_t object);
  // Of a method table or a type descriptor (pointer, parameter …); "?" when it is none.
  const std::string& name(std::uint64_t handle) { return name(handle, 0); }

  // A static field, as its class has it.
  struct StaticOf {
    std::string name{};
    std::uint32_t offset = 0;  // among the class's own of its sort
    std::uint8_t element_type = 0;
    bool of_thread = false;  // [ThreadStatic]
    bool in_file = false;    // its value lies in the module's file
  };
  std::vector<StaticOf> static_fields(std::uint64_t method_table);

  std::uint64_t module_of(std::uint64_t method_table);
  // The one that its memory belongs to: of a generic type, perhaps that of an argument.
  std::uint64_t loader_module_of(std::uint64_t method_table);
  std::uint32_t token_of(std::uint64_t method_table);  // TypeDef
  bool is_array(std::uint64_t method_table);
  std::string text_of_string(std::uint64_t object);  // empty when it is no string

  // How the names in signatures of a module are found.
  SignatureNames names_in(Module& module);

 private:
  struct Table {  // a MethodTable's words
    std::uint32_t flags = 0, base_size = 0, flags2 = 0;
    std::uint64_t parent = 0, module = 0, class_or_canon = 0, inst = 0;
  };
  struct Class {
    std::uint64_t address = 0;
    std::uint64_t canonical = 0;  // method table
  };

  Types(Memory& memory, Modules& modules) : memory_(&memory), modules_(&modules) {}
  std::optional<Table> read(std::uint64_t method_table);
  std::optional<Class> class_of(std::uint64_t method_table);
  const std::string& name(std::uint64_t handle, int depth);
  std::string make_name(std::uint64_t handle, int depth);
  std::string name_of_table(const Table& table, std::uint64_t method_table, int depth);
  std::string name_of_description(std::uint64_t description, int depth);
  void add_fields(TypeInfo& type, const Class& of, const Table& table);
  std::uint32_t instance_fields(std::uint64_t method_table);
  const TypeInfo* info(std::uint64_t method_table, int depth);

  Memory* memory_;
  Modules* modules_;
  struct {
    std::uint32_t flags, base_size, flags2, parent, module, class_or_canon, inst;
  } table_{};
  struct {
    std::uint32_t method_table, field_list, instance_fields, static_fields, rank;
  } class_{};
  struct {
    std::uint32_t type_and_flags, param, variable_module, variable_token;
  } description_{};
  std::uint32_t auxiliary_ = 32, loader_module_ = 8;  // in MethodTable, in what it points to
  std::uint32_t type_arguments_ = 0;                  // in GenericsDictInfo
  std::uint32_t string_length_ = 0;
  std::uint32_t string_chars_ = 0;
  std::uint64_t string_table_ = 0;  // String's method table
  std::uint64_t object_bits_ = 7;   // that are not the method table's
  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_map<std::uint64_t, std::unique_ptr<TypeInfo>> infos_;
};

}  // namespace clrscope::inspect
