#include "unwind/expression_x64.h"

#include "symbols/elf_frames.h"

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxSteps = 256;
constexpr std::size_t kMaxDepth = 32;

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

class Machine {
 public:
  Machine(Bytes code, const Registers& registers, const StackCopy& stack)
      : code_(code), registers_(registers), stack_(stack) {}

  ExprValue run(std::optional<std::uint64_t> cfa) {
    if (cfa) push(*cfa);
    std::size_t steps = 0;
    while (at_ < code_.size() && fault_ == ExprFault::kNone) {
      if (++steps > kMaxSteps) return {0, ExprFault::kNoRule};
      step();
    }
    if (fault_ == ExprFault::kNone && depth_ == 0) fault_ = ExprFault::kNoRule;
    return {fault_ == ExprFault::kNone ? values_[depth_ - 1] : 0, fault_};
  }

 private:
  void stop(ExprFault fault = ExprFault::kNoRule) { fault_ = fault; }
  void push(std::uint64_t value) {
    if (depth_ == kMaxDepth) return stop();
    values_[depth_++] = value;
  }
  std::uint64_t pop() {
    if (depth_ == 0) {
      stop();
      return 0;
    }
    return values_[--depth_];
  }
  void pick(std::size_t from_top) {
    if (from_top >= depth_) return stop();
    push(values_[depth_ - 1 - from_top]);
  }
  void push_register(std::uint64_t number, std::int64_t offset) {
    if (number >= kRegCount || !registers_.knows(static_cast<Reg>(number))) return stop();
    push(registers_[static_cast<Reg>(number)] + as_unsigned(offset));
  }
  void jump(std::int16_t distance) {
    const auto target = static_cast<std::int64_t>(at_) + distance;
    if (target < 0 || target > static_cast<std::int64_t>(code_.size())) return stop();
    at_ = static_cast<std::size_t>(target);
  }
  void dereference(std::size_t bytes) {
    std::uint64_t value = 0;
    if (bytes == 0 || bytes > 8) return stop();
    if (!stack_.read(pop(), value)) return stop(ExprFault::kNoMemory);
    push(bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1));
  }
  template <class Operation>
  void binary(Operation operation) {
    const auto b = pop();
    const auto a = pop();
    push(operation(a, b));
  }

  void step() {
    ByteReader in{code_.subspan(at_)};
    const auto op = in.read<std::uint8_t>();
    const auto start = at_;
    std::int16_t distance = 0;
    bool jumps = false;
    operate(op, in, distance, jumps);
    if (!in.ok()) return stop();
    at_ = start + in.offset();
    if (jumps) jump(distance);
  }

  void operate(std::uint8_t op, ByteReader& in, std::int16_t& distance, bool& jumps) {
    if (op >= 0x30 && op <= 0x4f) return push(op - 0x30u);                          // lit
    if (op >= 0x70 && op <= 0x8f) return push_register(op - 0x70u, read_sleb(in));  // breg
    switch (op) {
      case 0x06:
        return dereference(8);
      case 0x08:
        return push(in.read<std::uint8_t>());
      case 0x09:
        return push(as_unsigned(in.read<std::int8_t>()));
      case 0x0a:
        return push(in.read<std::uint16_t>());
      case 0x0b:
        return push(as_unsigned(in.read<std::int16_t>()));
      case 0x0c:
        return push(in.read<std::uint32_t>());
      case 0x0d:
        return push(as_unsigned(in.read<std::int32_t>()));
      case 0x0e:
      case 0x0f:
        return push(in.read<std::uint64_t>());
      case 0x10:
        return push(in.read_varuint());
      case 0x11:
        return push(as_unsigned(read_sleb(in)));
      case 0x12:
        return pick(0);  // dup
      case 0x13:
        return (void)pop();  // drop
      case 0x14:
        return pick(1);  // over
      case 0x15:
        return pick(in.read<std::uint8_t>());
      case 0x16: {  // swap
        const auto b = pop();
        const auto a = pop();
        push(b);
        return push(a);
      }
      case 0x17: {  // rot
        const auto c = pop();
        const auto b = pop();
        const auto a = pop();
        push(c);
        push(a);
        return push(b);
      }
      case 0x19: {  // abs
        const auto a = pop();
        return push(as_signed(a) < 0 ? 0 - a : a);
      }
      case 0x1a:
        return binary([](auto a, auto b) { return a & b; });
      case 0x1b:
        return divide();
      case 0x1c:
        return binary([](auto a, auto b) { return a - b; });
      case 0x1d: {  // mod
        const auto b = pop();
        const auto a = pop();
        if (b == 0) return stop();
        return push(a % b);
      }
      case 0x1e:
        return binary([](auto a, auto b) { return a * b; });
      case 0x1f:
        return push(0 - pop());
      case 0x20:
        return push(~pop());
      case 0x21:
        return binary([](auto a, auto b) { return a | b; });
      case 0x22:
        return binary([](auto a, auto b) { return a + b; });
      case 0x23:
        return push(pop() + in.read_varuint());
      case 0x24:
        return binary([](auto a, auto b) { return b > 63 ? 0 : a << b; });
      case 0x25:
        return binary([](auto a, auto b) { return b > 63 ? 0 : a >> b; });
      case 0x26:
        return binary(
            [](auto a, auto b) { return as_unsigned(as_signed(a) >> (b > 63 ? 63 : b)); });
      case 0x27:
        return binary([](auto a, auto b) { return a ^ b; });
      case 0x28:  // bra
        distance = in.read<std::int16_t>();
        jumps = pop() != 0;
        return;
      case 0x29:
        return compare([](auto a, auto b) { return a == b; });
      case 0x2a:
        return compare([](auto a, auto b) { return a >= b; });
      case 0x2b:
        return compare([](auto a, auto b) { return a > b; });
      case 0x2c:
        return compare([](auto a, auto b) { return a <= b; });
      case 0x2d:
        return compare([](auto a, auto b) { return a < b; });
      case 0x2e:
        return compare([](auto a, auto b) { return a != b; });
      case 0x2f:  // skip
        distance = in.read<std::int16_t>();
        jumps = true;
        return;
      case 0x92: {  // bregx
        const auto reg = in.read_varuint();
        return push_register(reg, read_sleb(in));
      }
      case 0x94:
        return dereference(in.read<std::uint8_t>());
      case 0x96:
        return;  // nop
      default:
        return stop();
    }
  }

  void divide() {
    const auto b = as_signed(pop());
    const auto a = as_signed(pop());
    if (b == 0 || b == -1) return b == 0 ? stop() : push(0 - as_unsigned(a));
    push(as_unsigned(a / b));
  }
  template <class Operation>
  void compare(Operation operation) {
    const auto b = as_signed(pop());
    const auto a = as_signed(pop());
    push(operation(a, b) ? 1 : 0);
  }

  Bytes code_;
  const Registers& registers_;
  const StackCopy& stack_;
  std::array<std::uint64_t, kMaxDepth> values_{};
  std::size_t depth_ = 0;
  std::size_t at_ = 0;
  ExprFault fault_ = ExprFault::kNone;
};

}  // namespace

ExprValue evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                   std::optional<std::uint64_t> cfa) {
  return Machine{expression, registers, stack}.run(cfa);
}

}  // namespace clrscope::unwind
