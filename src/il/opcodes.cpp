#include "il/opcodes.h"

namespace clrscope::il {
namespace {

constexpr std::uint8_t kUnknown = 0xff;
constexpr std::uint8_t kTable = 0xfe;  // the operand of switch

struct Range {
  std::uint8_t first, last, operand;
};
// Bytes of the operand, by the first byte of the instruction.
constexpr Range kOneByte[] = {
    {0x00, 0x0d, 0}, {0x0e, 0x13, 1}, {0x14, 0x1e, 0}, {0x1f, 0x1f, 1},      {0x20, 0x20, 4},
    {0x21, 0x21, 8}, {0x22, 0x22, 4}, {0x23, 0x23, 8}, {0x25, 0x26, 0},      {0x27, 0x29, 4},
    {0x2a, 0x2a, 0}, {0x2b, 0x37, 1}, {0x38, 0x44, 4}, {0x45, 0x45, kTable}, {0x46, 0x6e, 0},
    {0x6f, 0x75, 4}, {0x76, 0x76, 0}, {0x79, 0x79, 4}, {0x7a, 0x7a, 0},      {0x7b, 0x81, 4},
    {0x82, 0x8b, 0}, {0x8c, 0x8d, 4}, {0x8e, 0x8e, 0}, {0x8f, 0x8f, 4},      {0x90, 0xa2, 0},
    {0xa3, 0xa5, 4}, {0xb3, 0xba, 0}, {0xc2, 0xc2, 4}, {0xc3, 0xc3, 0},      {0xc6, 0xc6, 4},
    {0xd0, 0xd0, 4}, {0xd1, 0xdc, 0}, {0xdd, 0xdd, 4}, {0xde, 0xde, 1},      {0xdf, 0xe0, 0},
};
// By the second byte, after 0xfe.
constexpr Range kTwoBytes[] = {
    {0x00, 0x05, 0}, {0x06, 0x07, 4}, {0x09, 0x0e, 2}, {0x0f, 0x0f, 0}, {0x11, 0x11, 0},
    {0x12, 0x12, 1}, {0x13, 0x14, 0}, {0x15, 0x16, 4}, {0x17, 0x18, 0}, {0x19, 0x19, 1},
    {0x1a, 0x1a, 0}, {0x1c, 0x1c, 4}, {0x1d, 0x1e, 0},
};

struct Lengths {
  std::uint8_t one[256];
  std::uint8_t two[256];
};
constexpr Lengths make_lengths() {
  Lengths out{};
  for (auto& length : out.one) length = kUnknown;
  for (auto& length : out.two) length = kUnknown;
  for (const auto& range : kOneByte)
    for (unsigned i = range.first; i <= range.last; ++i) out.one[i] = range.operand;
  for (const auto& range : kTwoBytes)
    for (unsigned i = range.first; i <= range.last; ++i) out.two[i] = range.operand;
  return out;
}
constexpr Lengths kLengths = make_lengths();

}  // namespace

bool decode(const std::uint8_t* code, std::uint32_t size, std::uint32_t offset, Instruction& out) {
  if (offset >= size) return false;
  const auto left = size - offset;
  const std::uint8_t first = code[offset];
  const bool two = first == 0xfe;
  if (two && left < 2) return false;
  const std::uint8_t second = two ? code[offset + 1] : 0;
  const auto length = two ? kLengths.two[second] : kLengths.one[first];
  if (length == kUnknown) return false;
  const std::uint32_t head = two ? 2 : 1;
  out.offset = offset;
  out.opcode = static_cast<std::uint16_t>(two ? 0xfe00U | second : first);
  out.operand = offset + head;
  if (length != kTable) {
    out.size = head + length;
    return out.size <= left;
  }
  if (left < 5) return false;
  const auto count = read32(code + offset + 1);
  if (count > (left - 5) / 4) return false;
  out.size = 5 + count * 4;
  return true;
}

std::int64_t branch_target(const std::uint8_t* code, const Instruction& branch) {
  const std::int64_t next = std::int64_t{branch.offset} + branch.size;
  if (is_short_branch(branch.opcode)) return next + static_cast<std::int8_t>(code[branch.operand]);
  return next + static_cast<std::int32_t>(read32(code + branch.operand));
}

std::uint32_t switch_count(const std::uint8_t* code, const Instruction& instruction) {
  return read32(code + instruction.operand);
}

std::int64_t switch_target(const std::uint8_t* code, const Instruction& instruction,
                           std::uint32_t index) {
  const std::int64_t next = std::int64_t{instruction.offset} + instruction.size;
  return next + static_cast<std::int32_t>(read32(code + instruction.operand + 4 + index * 4));
}

}  // namespace clrscope::il
