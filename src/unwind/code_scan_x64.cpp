#include "unwind/code_scan_x64.h"

#include <optional>

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxInstructions = 256;

struct Decoded {
  std::size_t size = 0;  // 0: not understood
  std::size_t at = 0;    // of the opcode's last byte
  std::uint8_t rex = 0;
  std::uint8_t map = 0;  // 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A
  std::uint8_t opcode = 0;
  bool vex = false;
};

bool is_prefix(std::uint8_t b) {
  return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 ||
         b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65;
}

// What follows the opcode of the one-byte map: modrm or not, and bytes of immediate.
struct Tail {
  bool known = true;
  bool modrm = false;
  std::size_t immediate = 0;
};

Tail one_byte_tail(std::uint8_t op, bool operand16, bool address32, bool wide) {
  const std::size_t z = operand16 ? 2 : 4;
  if (op < 0x40) {
    const auto low = op & 7;
    if (low < 4) return {true, true, 0};
    if (low == 4) return {true, false, 1};
    if (low == 5) return {true, false, z};
    return {false};
  }
  if (op >= 0x50 && op <= 0x5f) return {};
  if (op == 0x63) return {true, true, 0};
  if (op == 0x68) return {true, false, z};
  if (op == 0x69) return {true, true, z};
  if (op == 0x6a) return {true, false, 1};
  if (op == 0x6b) return {true, true, 1};
  if (op >= 0x6c && op <= 0x6f) return {};
  if (op >= 0x70 && op <= 0x7f) return {true, false, 1};
  if (op == 0x81) return {true, true, z};
  if (op == 0x80 || op == 0x83) return {true, true, 1};
  if (op >= 0x84 && op <= 0x8f) return {true, true, 0};
  if (op >= 0x90 && op <= 0x9f) return {op != 0x9a};
  if (op >= 0xa0 && op <= 0xa3) return {true, false, address32 ? std::size_t{4} : 8};
  if (op == 0xa8) return {true, false, 1};
  if (op == 0xa9) return {true, false, z};
  if (op >= 0xa4 && op <= 0xaf) return {};
  if (op >= 0xb0 && op <= 0xb7) return {true, false, 1};
  if (op >= 0xb8 && op <= 0xbf) return {true, false, wide ? 8 : z};
  switch (op) {
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return {true, true, 1};
    case 0xc7:
      return {true, true, z};
    case 0xc2:
    case 0xca:
      return {true, false, 2};
    case 0xc8:
      return {true, false, 3};
    case 0xcd:
      return {true, false, 1};
    case 0xc3:
    case 0xc9:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xd7:
    case 0xf1:
    case 0xf4:
    case 0xf5:
      return {};
    case 0xe8:
    case 0xe9:
      return {true, false, 4};
    case 0xeb:
      return {true, false, 1};
    default:
      break;
  }
  if (op >= 0xd0 && op <= 0xdf && (op <= 0xd3 || op >= 0xd8)) return {true, true, 0};
  if (op >= 0xe0 && op <= 0xe7) return {true, false, 1};
  if (op >= 0xec && op <= 0xef) return {};
  if (op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff) return {true, true, 0};
  if (op >= 0xf8 && op <= 0xfd) return {};
  return {false};
}

Tail two_byte_tail(std::uint8_t op) {
  if (op >= 0x80 && op <= 0x8f) return {true, false, 4};
  if ((op >= 0x05 && op <= 0x09) || op == 0x0b || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
      (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) || (op >= 0xc8 && op <= 0xcf))
    return {};
  if ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
      (op >= 0xc4 && op <= 0xc6))
    return {true, true, 1};
  return {true, true, 0};
}

// Bytes of modrm, sib and displacement; 0 when cut short.
std::size_t modrm_size(Bytes rest) {
  if (rest.empty()) return 0;
  const auto mod = rest[0] >> 6;
  const auto rm = rest[0] & 7;
  if (mod == 3) return 1;
  std::size_t size = 1;
  bool disp32 = mod == 2 || (mod == 0 && rm == 5);
  if (rm == 4) {
    if (rest.size() < 2) return 0;
    ++size;
    if (mod == 0 && (rest[1] & 7) == 5) disp32 = true;
  }
  return size + (disp32 ? 4 : mod == 1 ? 1 : 0);
}

Decoded decode(Bytes code) {
  Decoded d;
  std::size_t at = 0;
  bool operand16 = false;
  bool address32 = false;
  const auto more = [&](std::size_t count) { return code.size() >= at + count; };
  while (more(1) && at < 14 && is_prefix(code[at])) {
    operand16 |= code[at] == 0x66;
    address32 |= code[at] == 0x67;
    ++at;
  }
  if (more(1) && (code[at] & 0xf0) == 0x40) d.rex = code[at++];
  if (!more(1)) return d;
  Tail tail;
  const auto vex_tail = [](std::uint8_t map, std::uint8_t op) -> Tail {
    if (map == 1)
      return op == 0x77
                 ? Tail{}
                 : Tail{true, true, two_byte_tail(op).modrm ? two_byte_tail(op).immediate : 0};
    return {map != 0, true, map == 3 ? std::size_t{1} : 0};
  };
  if (code[at] == 0xc5 || code[at] == 0xc4 || code[at] == 0x62) {
    const std::size_t skip = code[at] == 0xc5 ? 2 : code[at] == 0xc4 ? 3 : 4;
    if (!more(skip + 1)) return d;
    d.map = code[at] == 0xc5 ? std::uint8_t{1}
                             : static_cast<std::uint8_t>(code[at + 1] & (skip == 3 ? 0x1f : 0x07));
    d.vex = true;
    at += skip;
    d.opcode = code[at];
    tail = vex_tail(d.map, d.opcode);
  } else if (code[at] != 0x0f) {
    d.opcode = code[at];
    tail = one_byte_tail(d.opcode, operand16, address32, (d.rex & 8) != 0);
  } else {
    if (!more(2)) return d;
    ++at;
    d.map = code[at] == 0x38 ? 2 : code[at] == 0x3a ? 3 : 1;
    if (d.map != 1 && !more(2)) return d;
    if (d.map != 1) ++at;
    d.opcode = code[at];
    tail = d.map == 1 ? two_byte_tail(d.opcode) : Tail{true, true, d.map == 3 ? std::size_t{1} : 0};
  }
  if (!tail.known) return d;
  d.at = at;
  std::size_t size = at + 1;
  if (tail.modrm) {
    const auto extra = modrm_size(code.subspan(size));
    if (extra == 0) return d;
    const auto reg = code[size] >> 3 & 7;
    if (d.map == 0 && !d.vex && reg < 2 && d.opcode == 0xf6) tail.immediate = 1;
    if (d.map == 0 && !d.vex && reg < 2 && d.opcode == 0xf7) tail.immediate = operand16 ? 2 : 4;
    size += extra;
  }
  size += tail.immediate;
  if (size > 15 || size > code.size()) return d;
  d.size = size;
  return d;
}

std::int64_t immediate(Bytes code, std::size_t at, std::size_t bytes) {
  ByteReader in{code.subspan(at)};
  return bytes == 1 ? std::int64_t{in.read<std::int8_t>()} : std::int64_t{in.read<std::int32_t>()};
}

// What the scan knows, with offsets from rsp as it was at its start.
class Scan {
 public:
  Scan(Bytes code, bool epilogue_only) : code_(code), epilogue_only_(epilogue_only) {}

  CallerPlace run() {
    for (std::size_t n = 0; n < kMaxInstructions && at_ < code_.size(); ++n) {
      const auto here = code_.subspan(at_);
      const auto d = decode(here);
      if (d.size == 0) return {};
      at_ += d.size;
      if (const auto place = step(here.first(d.size), d)) return *place;
    }
    return {};
  }

 private:
  using Verdict = std::optional<CallerPlace>;

  static CallerPlace unknown() { return {}; }
  CallerPlace returned() const {
    if (rsp_ < 0) return {};
    CallerPlace place{.how = CallerPlace::How::kFound, .return_offset = rsp_};
    if (rbp_popped_) {
      place.rbp = CallerPlace::Rbp::kAtOffset;
      place.rbp_offset = *rbp_popped_;
    }
    return place;
  }
  // `frame` is where rbp will point to: the saved rbp, with the return address above it.
  CallerPlace built(std::int64_t frame) const {
    CallerPlace place{.how = CallerPlace::How::kFound, .return_offset = frame + 8};
    if (frame + 8 < 0) return {};
    if (frame < 0) return place;  // not pushed yet
    place.rbp = CallerPlace::Rbp::kAtOffset;
    place.rbp_offset = frame;
    return place;
  }

  Verdict step(Bytes code, const Decoded& d) {
    if (d.vex || d.map != 0) return other(code, d);
    const auto op = d.opcode;
    const bool plain = (d.rex & 0x0f) == 0;  // no extended registers
    if (op >= 0x50 && op <= 0x57) {
      if (epilogue_only_) return unknown();
      rsp_ -= 8;
      return std::nullopt;
    }
    if (op >= 0x58 && op <= 0x5f) {
      if (op == 0x5d && plain) {
        if (rsp_ < 0) return unknown();
        rbp_popped_ = rsp_;
      }
      rsp_ += 8;
      return std::nullopt;
    }
    if (op == 0xc3 || op == 0xc2) return returned();
    if (op == 0xe9 || op == 0xeb) return jump(immediate(code, d.at + 1, op == 0xeb ? 1 : 4));
    if (op == 0xff && code.size() > d.at + 1) return indirect(code[d.at + 1]);
    if (op == 0xe8 || op == 0xcc || op == 0xc9 || op == 0xf4) return unknown();
    if (d.rex == 0x48 && code.size() > d.at + 1) return wide(code, d);
    return other(code, d);
  }

  // Instructions with REX.W and no extended register: those that move the stack are among them.
  Verdict wide(Bytes code, const Decoded& d) {
    const auto op = d.opcode;
    const auto modrm = code[d.at + 1];
    if ((op == 0x83 || op == 0x81) && (modrm == 0xc4 || modrm == 0xec)) {
      const auto amount = immediate(code, d.at + 2, op == 0x83 ? 1 : 4);
      if (modrm == 0xec && epilogue_only_) return unknown();
      rsp_ += modrm == 0xc4 ? amount : -amount;
      return std::nullopt;
    }
    if ((op == 0x89 && modrm == 0xe5) || (op == 0x8b && modrm == 0xec))
      return epilogue_only_ ? unknown() : built(rsp_);  // mov rbp, rsp
    const bool lea = op == 0x8d;
    if (lea && modrm == 0x6c && code[d.at + 2] == 0x24)
      return epilogue_only_ ? unknown() : built(rsp_ + immediate(code, d.at + 3, 1));
    if (lea && modrm == 0xac && code[d.at + 2] == 0x24)
      return epilogue_only_ ? unknown() : built(rsp_ + immediate(code, d.at + 3, 4));
    if (lea && (modrm == 0x64 || modrm == 0xa4) && code[d.at + 2] == 0x24) {  // lea rsp, [rsp + n]
      rsp_ += immediate(code, d.at + 3, modrm == 0x64 ? 1 : 4);
      return std::nullopt;
    }
    // rsp from rbp: rbp names the frame already, and so does anything else that writes rsp.
    if ((lea || op == 0x8b) && (modrm >> 3 & 7) == kRspNumber) return unknown();
    if (op == 0x89 && modrm >= 0xc0 && (modrm & 7) == kRspNumber) return unknown();
    return other(code, d);
  }

  Verdict jump(std::int64_t distance) {
    const auto target = static_cast<std::int64_t>(at_) + distance;
    // A jump ahead inside what was read; one that leaves it in an epilogue is a tail call.
    if (!epilogue_only_ && target > static_cast<std::int64_t>(at_) &&
        target < static_cast<std::int64_t>(code_.size())) {
      at_ = static_cast<std::size_t>(target);
      return std::nullopt;
    }
    return rbp_popped_ ? returned() : unknown();
  }

  Verdict indirect(std::uint8_t modrm) {
    const auto operation = modrm >> 3 & 7;
    if (operation == 4 && modrm == 0x25) return first_ || rbp_popped_ ? returned() : unknown();
    if (operation == 4 && rbp_popped_) return returned();  // tail call through a register
    if (operation == 6) {                                  // push from memory
      if (epilogue_only_) return unknown();
      rsp_ -= 8;
      return std::nullopt;
    }
    return operation < 2 ? other({}, {}) : Verdict{unknown()};
  }

  // Any other instruction: it leaves the stack alone.
  Verdict other(Bytes, const Decoded& d) {
    const bool vzeroupper = d.vex && d.opcode == 0x77;
    const bool nop = d.map == 0 && d.opcode == 0x90;
    if (epilogue_only_ && !vzeroupper && !nop) return unknown();
    // Once rbp was popped only the rest of an epilogue follows.
    if (rbp_popped_ && !vzeroupper && !nop) return unknown();
    first_ = false;
    return std::nullopt;
  }

  static constexpr std::uint8_t kRspNumber = 4;
  Bytes code_;
  bool epilogue_only_;
  std::size_t at_ = 0;
  std::int64_t rsp_ = 0;
  std::optional<std::int64_t> rbp_popped_;
  bool first_ = true;  // nothing but stack moves so far
};

}  // namespace

std::size_t instruction_size(Bytes code) { return decode(code).size; }
CallerPlace scan_ahead(Bytes code) { return Scan{code, false}.run(); }
CallerPlace scan_epilogue(Bytes code) { return Scan{code, true}.run(); }

}  // namespace clrscope::unwind
