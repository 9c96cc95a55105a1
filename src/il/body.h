// A method body as it lies in a module: header, code, exception clauses. ECMA-335 II.25.4.
//
// Reads bytes that may be hostile: what parse_body() accepts has all its parts inside the bytes.
// Owns nothing. Compiles freestanding.
#pragma once

#include <cstdint>

#include "il/opcodes.h"

namespace clrscope::il {

// Why a method cannot be rewritten. The numbers are part of the agent's shared memory.
enum class Reason : std::uint32_t {
  kNone = 0,
  kNoBody = 1,            // abstract, native or made by the runtime
  kDamaged = 2,           // not a method body
  kTooLarge = 3,          // more code, locals or clauses than the buffers hold
  kJmp = 4,               // leaves with jmp
  kArgList = 5,           // variable arguments
  kReturnInClause = 6,    // returns inside an exception clause
  kBadTarget = 7,         // a branch or clause does not begin at an instruction
  kSignature = 8,         // its signature is not understood
  kIntrinsic = 9,         // the compiler replaces its code
  kUnloadable = 10,       // in an assembly that can be unloaded, or made at run time
  kTooMany = 11,          // more methods than the agent has room for
  kRuntimeAsync = 12,     // suspended by the runtime itself, without a state machine
  kOverBudget = 13,       // its probes cost more than their share: reverted
  kRefusedByRuntime = 14  // see the HRESULT
};
const char* name_of(Reason reason);

struct Clause {
  std::uint32_t flags = 0;  // 0 catch, 1 filter, 2 finally, 4 fault
  std::uint32_t try_offset = 0, try_length = 0;
  std::uint32_t handler_offset = 0, handler_length = 0;
  std::uint32_t token_or_filter = 0;
};
constexpr std::uint32_t kCatch = 0, kFilter = 1, kFinally = 2, kFault = 4;

struct Body {
  const std::uint8_t* code = nullptr;
  std::uint32_t code_size = 0;
  std::uint32_t max_stack = 0;
  std::uint32_t locals = 0;  // token of the local signature; 0: none
  bool init_locals = false;
  const std::uint8_t* clauses = nullptr;  // of the one section of clauses
  std::uint32_t clause_count = 0;
  bool fat_clauses = false;
  std::uint32_t size = 0;  // of the whole body
};

// `size` may be more than the body has. kNone, kDamaged or kTooLarge.
Reason parse_body(const std::uint8_t* bytes, std::uint32_t size, Body& out);
Clause clause_at(const Body& body, std::uint32_t index);

// A getter or setter of a field, a constant, an empty method: nothing worth measuring.
bool is_trivial(const Body& body);

}  // namespace clrscope::il
