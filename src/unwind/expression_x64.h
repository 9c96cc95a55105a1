// Evaluates the DWARF expressions that call frame information uses, over a copied stack.
#pragma once

#include <optional>

#include "unwind/unwinder.h"

namespace clrscope::unwind {

enum class ExprFault : std::uint8_t { kNone, kNoMemory, kNoRule };

struct ExprValue {
  std::uint64_t value = 0;
  ExprFault fault = ExprFault::kNone;
};

// `cfa` is on the evaluation stack at the start when given. Bounded in steps and depth.
ExprValue evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                   std::optional<std::uint64_t> cfa);

}  // namespace clrscope::unwind
