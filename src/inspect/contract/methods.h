// Names of methods, found from the address of the runtime's MethodDesc. Contract:
// RuntimeTypeSystem 1.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "inspect/contract/descriptor.h"
#include "inspect/contract/modules.h"
#include "inspect/contract/types.h"

namespace clrscope::inspect {

struct MethodName {
  std::string name{};    // Namespace.Type.Method(args); empty when it is no MethodDesc
  std::string module{};  // path; empty when dynamic
  std::uint32_t token = 0;
  bool made_by_program = false;
};

class Methods {
 public:
  static Result<Methods> open(Memory& memory, const Descriptor& descriptor, Modules& modules,
                              Types& types);

  // Made once per method. Lives until many others were asked for: copy it.
  const MethodName& at(std::uint64_t method_desc);
  // The DynamicResolver of a method that the program made; 0: it did not, or it is unknown. Moves
  // with collections.
  std::uint64_t dynamic_object(std::uint64_t method_desc);

 private:
  Methods(Memory& memory, Modules& modules, Types& types)
      : memory_(&memory), modules_(&modules), types_(&types) {}
  MethodName make(std::uint64_t method_desc);
  MethodName dynamic(std::uint64_t method_desc, Module& module);
  MethodName of_array(std::uint64_t method_desc, std::uint64_t table);

  Memory* memory_;
  Modules* modules_;
  Types* types_;
  struct {
    std::uint32_t chunk_index, flags, token_rest, slot;
  } method_{};
  struct {
    std::uint32_t size, table, token_range;
  } chunk_{};
  struct {
    std::uint32_t signature, signature_size, flags, name;
  } dynamic_{};
  std::uint32_t virtuals_ = 0;  // in MethodTable
  std::uint64_t alignment_ = 8;
  std::uint64_t token_rest_bits_ = 12;
  std::unordered_map<std::uint64_t, MethodName> known_;
};

}  // namespace clrscope::inspect
