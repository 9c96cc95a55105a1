#include "inspect/prologue_x64.h"

#include <algorithm>
#include <initializer_list>

namespace clrscope::inspect {
namespace {

bool skip(Bytes& code, std::initializer_list<std::uint8_t> instruction) {
  if (code.size() < instruction.size() ||
      !std::equal(instruction.begin(), instruction.end(), code.begin()))
    return false;
  code = code.subspan(instruction.size());
  return true;
}

// push rbx, rax (to align) or r12 to r15
bool skip_push(Bytes& code) {
  if (skip(code, {0x53}) || skip(code, {0x50})) return true;
  for (std::uint8_t number = 0x54; number <= 0x57; ++number)
    if (skip(code, {0x41, number})) return true;
  return false;
}

}  // namespace

std::optional<std::uint64_t> rbp_above_rsp(Bytes code) {
  skip(code, {0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  if (!skip(code, {0x55})) return std::nullopt;
  if (!skip(code, {0x48, 0x89, 0xe5}) && !skip(code, {0x48, 0x8b, 0xec})) return std::nullopt;
  std::uint64_t distance = 0;
  while (skip_push(code)) distance += 8;
  if (skip(code, {0x48, 0x83, 0xec})) {  // sub rsp, 8 bits
    ByteReader in{code};
    distance += in.read<std::uint8_t>();
    if (!in.ok()) return std::nullopt;
  } else if (skip(code, {0x48, 0x81, 0xec})) {  // sub rsp, 32 bits
    ByteReader in{code};
    distance += in.read<std::uint32_t>();
    if (!in.ok()) return std::nullopt;
  }
  return distance;
}

}  // namespace clrscope::inspect
