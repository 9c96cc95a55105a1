#include "unwind/osr_x64.h"

#include <algorithm>
#include <array>

namespace clrscope::unwind {
namespace {

constexpr std::uint64_t kFarthest = 64 * 1024;  // from the hand-over back to the prologue
constexpr std::size_t kChunk = 512;
constexpr std::size_t kLongest = 8;  // lea rbp, [rsp + 32 bits]

// Whether the frame above could hold what the old prologue pushed: few frames could.
bool holds_twice(std::uint64_t rbp, std::uint64_t saved, const StackCopy& stack) {
  std::uint64_t word = 0;
  for (auto at = rbp + 16; at < saved && stack.read(at, word); at += 8)
    if (word == saved) return true;
  return false;
}

// The n of `lea rbp, [rsp + n]` at the front.
std::optional<std::uint64_t> frame_size(Bytes code) {
  if (code.size() < kLongest || code[0] != 0x48 || code[1] != 0x8d || code[3] != 0x24) return {};
  ByteReader in{code.subspan(4)};
  if (code[2] == 0x6c && code[4] < 0x80) return in.read<std::uint8_t>();
  if (code[2] == 0xac && code[7] < 0x80) return in.read<std::uint32_t>();
  return {};
}

// Of the method that `address` is in: its prologue is the nearest one before.
std::optional<std::uint64_t> frame_size_before(std::uint64_t address, CodeBytes& code,
                                               std::uint64_t lowest) {
  lowest = std::max(lowest, address - std::min(address, kFarthest));
  std::array<std::uint8_t, kChunk + kLongest> buffer;
  for (auto end = address; end > lowest;) {
    const auto start = end - std::min<std::uint64_t>(end - lowest, kChunk);
    const auto wanted = static_cast<std::size_t>(end - start) + kLongest;
    const Bytes bytes = Bytes{buffer}.first(code.read(start, std::span{buffer}.first(wanted)));
    if (bytes.size() < wanted - kLongest) return {};
    for (auto at = end - start; at-- > 0;)
      if (const auto size = frame_size(bytes.subspan(at))) return size;
    end = start;
  }
  return {};
}

}  // namespace

std::optional<std::uint64_t> replaced_frame(std::uint64_t rbp, const StackCopy& stack,
                                            CodeBytes& code, std::uint64_t lowest) {
  std::uint64_t saved = 0;
  std::uint64_t handed_over = 0;
  std::uint64_t word = 0;
  if (!stack.read(rbp, saved) || !stack.read(rbp + 8, handed_over)) return {};
  if (!holds_twice(rbp, saved, stack)) return {};
  const auto size = frame_size_before(handed_over, code, lowest);
  if (!size || *size % 8 != 0) return {};
  // In an ordinary frame that is the caller's own, which `saved` points to.
  const auto slot = rbp + 16 + *size;
  if (slot >= saved || !stack.read(slot, word) || word != saved) return {};
  return slot;
}

}  // namespace clrscope::unwind
