// The instructions of IL: how long each is. ECMA-335 partition III. Compiles freestanding.
#pragma once

#include <cstdint>

namespace clrscope::il {

// Two-byte instructions are 0xfe00 + the second byte.
enum Opcode : std::uint16_t {
  kJmp = 0x27,
  kCall = 0x28,
  kCalli = 0x29,
  kRet = 0x2a,
  kBrShort = 0x2b,
  kBltUnShort = 0x37,
  kBr = 0x38,
  kBrFalse = 0x39,
  kBltUn = 0x44,
  kSwitch = 0x45,
  kCallVirt = 0x6f,
  kNewObj = 0x73,
  kThrow = 0x7a,
  kEndFinally = 0xdc,
  kLeave = 0xdd,
  kLeaveShort = 0xde,
  kArgList = 0xfe00,
  kLdLoc = 0xfe0c,
  kLdLocA = 0xfe0d,
  kStLoc = 0xfe0e,
  kEndFilter = 0xfe11,
  kTail = 0xfe14,
  kRethrow = 0xfe1a,
};

constexpr bool is_short_branch(std::uint16_t opcode) {
  return (opcode >= kBrShort && opcode <= kBltUnShort) || opcode == kLeaveShort;
}
constexpr bool is_long_branch(std::uint16_t opcode) {
  return (opcode >= kBr && opcode <= kBltUn) || opcode == kLeave;
}
constexpr std::uint16_t long_form(std::uint16_t short_branch) {
  return static_cast<std::uint16_t>(short_branch == kLeaveShort ? kLeave
                                                                : short_branch + (kBr - kBrShort));
}

struct Instruction {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  // of all its bytes
  std::uint16_t opcode = 0;
  std::uint32_t operand = 0;  // offset of the operand
};

// Reads the instruction at `offset`; false when it is unknown or runs past the end.
bool decode(const std::uint8_t* code, std::uint32_t size, std::uint32_t offset, Instruction& out);

inline std::uint32_t read32(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
         static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}
inline std::uint16_t read16(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

// Where a branch leads, as an offset that may lie anywhere: 64 bits cannot overflow.
std::int64_t branch_target(const std::uint8_t* code, const Instruction& branch);
std::uint32_t switch_count(const std::uint8_t* code, const Instruction& instruction);
std::int64_t switch_target(const std::uint8_t* code, const Instruction& instruction,
                           std::uint32_t index);

}  // namespace clrscope::il
