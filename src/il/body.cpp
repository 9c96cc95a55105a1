#include "il/body.h"

namespace clrscope::il {
namespace {

constexpr std::uint32_t kMostCode = 16 << 20;
constexpr std::uint32_t kMostTrivialCode = 8;  // ldarg.0, ldarg.1, stfld, ret

Reason parse_sections(const std::uint8_t* bytes, std::uint32_t size, std::uint32_t at, Body& out) {
  constexpr std::uint8_t kClauses = 0x01, kFat = 0x40, kMore = 0x80;
  for (bool more = true; more;) {
    at = (at + 3) & ~3U;
    if (at > size || size - at < 4) return Reason::kDamaged;
    const auto kind = bytes[at];
    const bool fat = (kind & kFat) != 0;
    const std::uint32_t length = fat ? read32(bytes + at) >> 8 : bytes[at + 1];
    const std::uint32_t each = fat ? 24 : 12;
    const std::uint32_t count = length < 4 ? 0 : (length - 4 + each / 2) / each;
    // A second section with clauses is legal; no compiler writes one.
    if ((kind & kClauses) == 0 || out.clauses) return Reason::kDamaged;
    if (count > (size - at - 4) / each) return Reason::kDamaged;
    out.clauses = bytes + at + 4;
    out.clause_count = count;
    out.fat_clauses = fat;
    at += 4 + count * each;
    more = (kind & kMore) != 0;
  }
  out.size = at;
  return Reason::kNone;
}

}  // namespace

Reason parse_body(const std::uint8_t* bytes, std::uint32_t size, Body& out) {
  out = {};
  if (size < 1) return Reason::kNoBody;
  constexpr std::uint8_t kTiny = 2, kFat = 3;
  if ((bytes[0] & 3) == kTiny) {
    out.code = bytes + 1;
    out.code_size = bytes[0] >> 2;
    out.max_stack = 8;
    out.size = 1 + out.code_size;
    return out.code_size != 0 && out.size <= size ? Reason::kNone : Reason::kDamaged;
  }
  constexpr std::uint16_t kMoreSections = 8, kInitLocals = 0x10;
  if ((bytes[0] & 3) != kFat || size < 12) return Reason::kDamaged;
  const auto flags = read16(bytes);
  if (flags >> 12 != 3) return Reason::kDamaged;
  out.max_stack = read16(bytes + 2);
  out.code_size = read32(bytes + 4);
  out.locals = read32(bytes + 8);
  out.init_locals = (flags & kInitLocals) != 0;
  out.code = bytes + 12;
  if (out.code_size > kMostCode) return Reason::kTooLarge;
  if (out.code_size == 0 || out.code_size > size - 12) return Reason::kDamaged;
  out.size = 12 + out.code_size;
  return (flags & kMoreSections) != 0 ? parse_sections(bytes, size, out.size, out) : Reason::kNone;
}

Clause clause_at(const Body& body, std::uint32_t index) {
  if (body.fat_clauses) {
    const auto* at = body.clauses + index * 24;
    return {read32(at),      read32(at + 4),  read32(at + 8),
            read32(at + 12), read32(at + 16), read32(at + 20)};
  }
  const auto* at = body.clauses + index * 12;
  return {read16(at), read16(at + 2), at[4], read16(at + 5), at[7], read32(at + 8)};
}

bool is_trivial(const Body& body) {
  if (body.code_size > kMostTrivialCode || body.clause_count != 0) return false;
  Instruction instruction;
  for (std::uint32_t at = 0; at < body.code_size; at += instruction.size) {
    if (!decode(body.code, body.code_size, at, instruction)) return false;
    switch (instruction.opcode) {
      case kCall:
      case kCalli:
      case kCallVirt:
      case kNewObj:
      case kThrow:
      case kJmp:
        return false;
      default:
        if (is_short_branch(instruction.opcode) || is_long_branch(instruction.opcode)) return false;
    }
  }
  return true;
}

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "none";
    case Reason::kNoBody:
      return "noBody";
    case Reason::kDamaged:
      return "damaged";
    case Reason::kTooLarge:
      return "tooLarge";
    case Reason::kJmp:
      return "jmp";
    case Reason::kArgList:
      return "variableArguments";
    case Reason::kReturnInClause:
      return "returnInClause";
    case Reason::kBadTarget:
      return "badTarget";
    case Reason::kSignature:
      return "unknownSignature";
    case Reason::kIntrinsic:
      return "intrinsic";
    case Reason::kUnloadable:
      return "unloadable";
    case Reason::kTooMany:
      return "tooManyMethods";
    case Reason::kRuntimeAsync:
      return "runtimeAsync";
    case Reason::kOverBudget:
      return "overBudget";
    case Reason::kRefusedByRuntime:
      return "refusedByRuntime";
  }
  return "unknown";
}

}  // namespace clrscope::il
