// Signatures of methods to the text that people read: see symbols/method_name.h for the manner.
//
// Format: ECMA-335 II.23.2, and what the runtime adds in memory (types by address). The bytes may
// be hostile: nesting and length are bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"

namespace clrscope {

// Unsigned, 1 to 4 bytes (II.23.2).
std::uint32_t read_compressed(ByteReader& in);

struct SignatureNames {
  // Of a TypeDef, TypeRef or TypeSpec token.
  std::function<std::string(std::uint32_t token)> type;
  // Of a type given by its address in the runtime.
  std::function<std::string(std::uint64_t handle)> handle;
};

// "(int, string, System.Collections.Generic.List`1<!0>)"; "" when it is no method's signature.
std::string arguments_of_signature(Bytes signature, const SignatureNames& names);
// One type, such as the blob of a TypeSpec.
std::string type_of_signature(Bytes signature, const SignatureNames& names);

// C#'s word for a built-in element type; empty for the others.
std::string_view built_in_name(std::uint8_t element_type);

}  // namespace clrscope
