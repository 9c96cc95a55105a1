// Where a ReadyToRun image in the target's memory keeps what maps a method's code to IL.
#pragma once

#include <cstdint>

#include "inspect/contract/code.h"
#include "inspect/contract/descriptor.h"
#include "symbols/il_map.h"

namespace clrscope::inspect {

class ReadyToRunDebug {
 public:
  static Result<ReadyToRunDebug> open(Memory& memory, const Descriptor& descriptor);

  // Empty when there is none.
  IlMap il_map(const CodeBlock& block);

 private:
  explicit ReadyToRunDebug(Memory& memory) : memory_(&memory) {}

  Memory* memory_;
  std::uint32_t in_module_ = 0;
  std::uint32_t composite_ = 0;
  std::uint32_t header_ = 0;
};

}  // namespace clrscope::inspect
