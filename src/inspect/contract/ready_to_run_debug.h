// Where a ReadyToRun image keeps what maps a method's code to IL.
#pragma once

#include <cstdint>
#include <optional>

#include "inspect/contract/code.h"
#include "inspect/contract/descriptor.h"

namespace clrscope::inspect {

class ReadyToRunDebug {
 public:
  static Result<ReadyToRunDebug> open(Memory& memory, const Descriptor& descriptor);

  // The address of the method's debug info; 0 when there is none.
  std::uint64_t find(const CodeBlock& block);

 private:
  struct Number {
    std::uint32_t value;
    std::uint64_t next;  // the address after it
  };

  explicit ReadyToRunDebug(Memory& memory) : memory_(&memory) {}
  std::uint64_t section(std::uint64_t header, std::uint64_t image_base);
  std::optional<Number> number(std::uint64_t address);
  std::uint64_t element(std::uint64_t array, std::uint32_t index);

  Memory* memory_;
  std::uint32_t in_module_ = 0;
  std::uint32_t composite_ = 0;
  std::uint32_t header_ = 0;
};

}  // namespace clrscope::inspect
