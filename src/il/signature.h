// Signatures as far as a rewriter needs them: what a method returns, and a list of locals with more
// locals. Bytes may be hostile. Compiles freestanding. ECMA-335 II.23.2.
#pragma once

#include <cstdint>

#include "il/body.h"

namespace clrscope::il {

struct MethodSignature {
  bool is_void = false;
  bool has_this = false;
  std::uint32_t parameters = 0;
  // The type that is returned, without its modifiers: a piece of the signature.
  const std::uint8_t* type = nullptr;
  std::uint32_t type_size = 0;
};
// kNone, kSignature or kArgList.
Reason parse_method_signature(const std::uint8_t* bytes, std::uint32_t size, MethodSignature& out);

// The locals of the old signature (size 0: none), then one of the returned type unless that is
// void, then two 64-bit integers.
struct NewLocals {
  std::uint32_t size = 0;    // of the signature that was written
  std::uint32_t result = 0;  // number of the local for the returned value, if there is one
  std::uint32_t start = 0;   // number of the first integer
  std::uint32_t saved = 0;   // and of the second
};
Reason extend_locals(const std::uint8_t* old, std::uint32_t old_size,
                     const MethodSignature& signature, std::uint8_t* out, std::uint32_t capacity,
                     NewLocals& locals);

}  // namespace clrscope::il
