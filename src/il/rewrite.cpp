#include "il/rewrite.h"

namespace clrscope::il {
namespace {

constexpr std::uint32_t kHeaderBytes = 12;
constexpr std::uint32_t kMostClauses = 4096;
constexpr std::uint32_t kMostNewCode = 0x3fff'ffff;
// Of the leave probe: three or four arguments and the function.
constexpr std::uint32_t kProbeStack = 4, kStepStack = 5;
// More code of a state machine: to load the state, its local; the calls of put_fault(), put_end().
constexpr std::uint32_t kStateBytes = 6, kLocalBytes = 4, kFaultBytes = 20, kEndBytes = 42;

// How much room the new form of an instruction takes.
std::uint32_t new_size(const Instruction& instruction, bool is_void) {
  constexpr std::uint32_t kLeaveBytes = 5, kStoreBytes = 4;
  if (instruction.opcode == kRet) return kLeaveBytes + (is_void ? 0 : kStoreBytes);
  if (instruction.opcode == kTail) return 0;
  return is_short_branch(instruction.opcode) ? 5 : instruction.size;
}

bool in_clause(const Body& body, std::uint32_t offset) {
  for (std::uint32_t i = 0; i < body.clause_count; ++i) {
    const auto clause = clause_at(body, i);
    if (offset - clause.try_offset < clause.try_length) return true;
    if (offset - clause.handler_offset < clause.handler_length) return true;
    if (clause.flags == kFilter && offset >= clause.token_or_filter &&
        offset < clause.handler_offset)
      return true;
  }
  return false;
}

// Maps every instruction to its new offset, counted from `base`, and the end of the code to `end`.
Reason map_code(const Body& body, bool is_void, std::uint32_t base, const StateMachine* machine,
                std::uint32_t* map, std::uint32_t map_count, std::uint32_t& end) {
  if (body.code_size >= map_count || body.clause_count > kMostClauses) return Reason::kTooLarge;
  for (std::uint32_t i = 0; i <= body.code_size; ++i) map[i] = kNotAnInstruction;
  Instruction instruction;
  for (std::uint32_t at = 0; at < body.code_size; at += instruction.size) {
    if (!decode(body.code, body.code_size, at, instruction)) return Reason::kDamaged;
    if (instruction.opcode == kJmp) return Reason::kJmp;
    if (instruction.opcode == kArgList) return Reason::kArgList;
    if (instruction.opcode == kRet && in_clause(body, at)) return Reason::kReturnInClause;
    map[at] = base;
    base += new_size(instruction, is_void) + inserted_before(machine, at);
    if (base > kMostNewCode) return Reason::kTooLarge;
  }
  map[body.code_size] = end = base;
  return Reason::kNone;
}

bool is_target(const Body& body, const std::uint32_t* map, std::int64_t target) {
  return target >= 0 && target < body.code_size && map[target] != kNotAnInstruction;
}

// Whether a range begins at an instruction and ends behind one.
bool is_range(const Body& body, const std::uint32_t* map, std::uint32_t offset,
              std::uint32_t length) {
  if (length == 0 || offset >= body.code_size || length > body.code_size - offset) return false;
  return map[offset] != kNotAnInstruction && map[offset + length] != kNotAnInstruction;
}

Reason check_targets(const Body& body, const std::uint32_t* map) {
  Instruction instruction;
  for (std::uint32_t at = 0; at < body.code_size; at += instruction.size) {
    if (!decode(body.code, body.code_size, at, instruction)) return Reason::kDamaged;
    if (is_short_branch(instruction.opcode) || is_long_branch(instruction.opcode)) {
      if (!is_target(body, map, branch_target(body.code, instruction))) return Reason::kBadTarget;
    } else if (instruction.opcode == kSwitch) {
      for (std::uint32_t i = 0; i < switch_count(body.code, instruction); ++i)
        if (!is_target(body, map, switch_target(body.code, instruction, i)))
          return Reason::kBadTarget;
    } else if (instruction.opcode == kTail && at + instruction.size >= body.code_size) {
      return Reason::kDamaged;  // a prefix of nothing
    }
  }
  for (std::uint32_t i = 0; i < body.clause_count; ++i) {
    const auto clause = clause_at(body, i);
    const bool known = clause.flags == kCatch || clause.flags == kFilter ||
                       clause.flags == kFinally || clause.flags == kFault;
    if (!known || !is_range(body, map, clause.try_offset, clause.try_length) ||
        !is_range(body, map, clause.handler_offset, clause.handler_length))
      return Reason::kBadTarget;
    if (clause.flags == kFilter && !is_target(body, map, clause.token_or_filter))
      return Reason::kBadTarget;
  }
  return Reason::kNone;
}

class Writer {
 public:
  Writer(std::uint8_t* out, std::uint32_t capacity) : out_(out), capacity_(capacity) {}

  bool ok() const { return ok_; }
  std::uint32_t at() const { return at_; }
  void byte(std::uint32_t value) {
    if (at_ < capacity_)
      out_[at_++] = static_cast<std::uint8_t>(value);
    else
      ok_ = false;
  }
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) byte(static_cast<std::uint32_t>(value >> (i * 8)) & 0xff);
  }
  void copy(const std::uint8_t* from, std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) byte(from[i]);
  }
  void op(std::uint16_t opcode) {
    if (opcode > 0xff) byte(opcode >> 8);
    byte(opcode & 0xff);
  }
  void local(std::uint16_t opcode, std::uint32_t number_of_local) {
    op(opcode);
    number(number_of_local, 2);
  }
  void token(std::uint16_t opcode, std::uint32_t value) {
    op(opcode);
    number(value, 4);
  }
  void pointer(std::uint64_t address) {
    byte(0x21);  // ldc.i8
    number(address, 8);
    byte(0xd3);  // conv.i
  }

 private:
  std::uint8_t* out_;
  std::uint32_t capacity_;
  std::uint32_t at_ = 0;
  bool ok_ = true;
};

constexpr std::uint32_t kLoadNumber = 0x20, kLoadZero = 0x16, kToInt64 = 0x6a, kToAddress = 0xe0,
                        kLoadUInt32 = 0x4b, kLoadThis = 0x02, kLoadField = 0x7b;

std::uint32_t more_enter_bytes(const Probe& probe) {
  return probe.machine ? kStateBytes : probe.argument != kNoArgument ? 1 : 0;
}

void put_enter(Writer& out, const NewLocals& locals, const Probe& probe) {
  const std::uint32_t call_bytes = 5 + 4 + 1 + 10 + 5 + 4 + more_enter_bytes(probe);
  out.byte(kLoadZero);
  out.byte(kToInt64);
  out.local(kStLoc, locals.start);
  out.pointer(probe.gate);
  out.byte(kLoadUInt32);
  out.byte(0x2c);  // brfalse.s
  out.byte(call_bytes);
  out.byte(kLoadNumber);
  out.number(probe.id, 4);
  out.local(kLdLocA, locals.saved);
  out.byte(kToAddress);
  if (probe.machine) {
    out.byte(kLoadThis);
    out.token(kLoadField, probe.machine->field);
  } else if (probe.argument != kNoArgument) {
    out.byte(kLoadThis + (probe.argument & 3));
  }
  out.pointer(probe.enter);
  out.token(kCalli, probe.enter_token);
  out.local(kStLoc, locals.start);
}
constexpr std::uint32_t kEnterBytes = 2 + 4 + 10 + 1 + 2 + 29;

void put_leave(Writer& out, const NewLocals& locals, const Probe& probe, std::uint64_t function) {
  const std::uint32_t call_bytes = 5 + 4 + 4 + 10 + 5 + (probe.machine ? kLocalBytes : 0);
  out.local(kLdLoc, locals.start);
  out.byte(0x2c);  // brfalse.s
  out.byte(call_bytes);
  out.byte(kLoadNumber);
  out.number(probe.id, 4);
  out.local(kLdLoc, locals.start);
  out.local(kLdLoc, locals.saved);
  if (probe.machine) out.local(kLdLoc, probe.machine->local);
  out.pointer(function);
  out.token(kCalli, probe.leave_token);
}
constexpr std::uint32_t kLeaveProbeBytes = 4 + 2 + 28, kEndFinallyBytes = 1;

// The exception is on the stack, and stays there.
void put_fault(Writer& out, const NewLocals& locals, const Probe& probe) {
  constexpr std::uint32_t kDuplicate = 0x25;
  out.byte(kDuplicate);
  out.local(kLdLoc, locals.start);
  out.pointer(probe.fault);
  out.token(kCalli, probe.fault_token);
}
static_assert(kFaultBytes == 1 + 4 + 10 + 5);

// The step ends here, not at the end of the method.
void put_end(Writer& out, const NewLocals& locals, const Probe& probe) {
  constexpr std::uint32_t kCallBytes = 5 + 4 + 4 + 2 + 10 + 5 + 2 + 4;
  constexpr std::uint32_t kLoadSmall = 0x1f, kEnded = 0xfe;  // -2
  out.local(kLdLoc, locals.start);
  out.byte(0x2c);  // brfalse.s
  out.byte(kCallBytes);
  out.byte(kLoadNumber);
  out.number(probe.id, 4);
  out.local(kLdLoc, locals.start);
  out.local(kLdLoc, locals.saved);
  out.byte(kLoadSmall);
  out.byte(kEnded);
  out.pointer(probe.leave);
  out.token(kCalli, probe.leave_token);
  out.byte(kLoadZero);
  out.byte(kToInt64);
  out.local(kStLoc, locals.start);
}
static_assert(kEndBytes == 4 + 2 + 36);

bool is_end(const StateMachine& machine, std::uint32_t offset) {
  for (std::uint32_t i = 0; i < machine.end_count; ++i)
    if (machine.ends[i] == offset) return true;
  return false;
}

void put_branch(Writer& out, std::uint16_t opcode, std::uint32_t target, std::uint32_t code_begin) {
  out.op(opcode);
  const auto next = out.at() + 4 - code_begin;
  out.number(static_cast<std::uint32_t>(target - next), 4);
}

void put_code(Writer& out, const Body& body, bool is_void, const NewLocals& locals,
              const Probe& probe, const std::uint32_t* map, const Layout& layout) {
  Instruction instruction;
  for (std::uint32_t at = 0; at < body.code_size; at += instruction.size) {
    if (!decode(body.code, body.code_size, at, instruction)) return;
    const auto opcode = instruction.opcode;
    if (probe.machine && at == probe.machine->handler) put_fault(out, locals, probe);
    if (probe.machine && is_end(*probe.machine, at)) put_end(out, locals, probe);
    if (opcode == kTail) continue;
    if (opcode == kRet) {
      if (!is_void) out.local(kStLoc, locals.result);
      put_branch(out, kLeave, layout.end, kHeaderBytes);
    } else if (is_short_branch(opcode) || is_long_branch(opcode)) {
      const auto target = map[branch_target(body.code, instruction)];
      put_branch(out, is_short_branch(opcode) ? long_form(opcode) : opcode, target, kHeaderBytes);
    } else if (opcode == kSwitch) {
      const auto count = switch_count(body.code, instruction);
      out.op(kSwitch);
      out.number(count, 4);
      const auto next = out.at() + count * 4 - kHeaderBytes;
      for (std::uint32_t i = 0; i < count; ++i)
        out.number(static_cast<std::uint32_t>(map[switch_target(body.code, instruction, i)] - next),
                   4);
    } else {
      out.copy(body.code + at, instruction.size);
    }
  }
}

void put_clause(Writer& out, const Clause& clause) {
  out.number(clause.flags, 4);
  out.number(clause.try_offset, 4);
  out.number(clause.try_length, 4);
  out.number(clause.handler_offset, 4);
  out.number(clause.handler_length, 4);
  out.number(clause.token_or_filter, 4);
}

// The old clauses, moved, and ours behind them: it is the outermost.
void put_clauses(Writer& out, const Body& body, const std::uint32_t* map, const Layout& layout) {
  while (out.ok() && out.at() % 4 != 0) out.byte(0);
  constexpr std::uint32_t kFatClauses = 0x41;
  out.byte(kFatClauses);
  out.number(4 + (body.clause_count + 1) * 24, 3);
  for (std::uint32_t i = 0; i < body.clause_count; ++i) {
    auto clause = clause_at(body, i);
    clause.try_length = map[clause.try_offset + clause.try_length] - map[clause.try_offset];
    clause.handler_length =
        map[clause.handler_offset + clause.handler_length] - map[clause.handler_offset];
    clause.try_offset = map[clause.try_offset];
    clause.handler_offset = map[clause.handler_offset];
    if (clause.flags == kFilter) clause.token_or_filter = map[clause.token_or_filter];
    put_clause(out, clause);
  }
  put_clause(out, {.flags = layout.has_fault ? kFault : kFinally,
                   .try_offset = layout.try_begin,
                   .try_length = layout.handler - layout.try_begin,
                   .handler_offset = layout.handler,
                   .handler_length = layout.end - layout.handler,
                   .token_or_filter = 0});
}

}  // namespace

std::uint32_t inserted_before(const StateMachine* machine, std::uint32_t offset) {
  if (!machine) return 0;
  return (offset == machine->handler ? kFaultBytes : 0) +
         (is_end(*machine, offset) ? kEndBytes : 0);
}

bool find_state_machine(const Body& body, StateMachine& out) {
  constexpr std::uint32_t kNop = 0x00, kStLocShort = 0x13, kStLoc0 = 0x0a, kStLoc3 = 0x0d,
                          kLoadSmall = 0x1f, kDuplicate = 0x25, kStoreField = 0x7d;
  const auto stores_local = [&](const Instruction& one, std::uint32_t& local) {
    if (one.opcode >= kStLoc0 && one.opcode <= kStLoc3)
      local = one.opcode - kStLoc0;
    else if (one.opcode == kStLocShort)
      local = body.code[one.operand];
    else if (one.opcode == kStLoc)
      local = read16(body.code + one.operand);
    else
      return false;
    return true;
  };
  out = {};
  Instruction last[5];  // the newest one last
  std::uint32_t count = 0;
  bool begun = false;
  for (std::uint32_t at = 0; at < body.code_size; at += last[4].size) {
    for (int i = 0; i < 4; ++i) last[i] = last[i + 1];
    if (!decode(body.code, body.code_size, at, last[4])) return false;
    if (!begun) {
      // this.state is copied first.
      if (last[4].opcode == kNop) continue;
      ++count;
      if (count == 1 && last[4].opcode != kLoadThis) return false;
      if (count == 2 && last[4].opcode != kLoadField) return false;
      if (count == 2) out.field = read32(body.code + last[4].operand);
      if (count == 3 && !stores_local(last[4], out.local)) return false;
      begun = count == 3;
      continue;
    }
    // ldarg.0; ldc.i4.s N; [dup; stloc state;] stfld state; N below -1
    if (last[4].opcode != kStoreField || read32(body.code + last[4].operand) != out.field) continue;
    std::uint32_t local = 0;
    const bool copies = last[2].opcode == kDuplicate && stores_local(last[3], local);
    const auto& number = copies ? last[1] : last[3];
    const auto& object = copies ? last[0] : last[2];
    if (number.opcode != kLoadSmall || object.opcode != kLoadThis ||
        static_cast<std::int8_t>(body.code[number.operand]) >= -1)
      continue;
    if (out.end_count == StateMachine::kMostEnds) return false;
    out.ends[out.end_count++] = object.offset;
  }
  // The last catch clause is the outermost: it gives the exception to the task.
  bool has_handler = false;
  for (std::uint32_t i = 0; i < body.clause_count; ++i) {
    const auto clause = clause_at(body, i);
    if (clause.flags != kCatch) continue;
    out.handler = clause.handler_offset;
    has_handler = true;
  }
  return begun && has_handler && out.end_count > 0;
}

Reason check_body(const Body& body, std::uint32_t* map, std::uint32_t map_count) {
  std::uint32_t end = 0;
  const auto mapped = map_code(body, false, 0, nullptr, map, map_count, end);
  return mapped != Reason::kNone ? mapped : check_targets(body, map);
}

Reason rewrite(const Body& body, const MethodSignature& signature, const NewLocals& locals,
               const Probe& probe, std::uint32_t* map, std::uint32_t map_count, std::uint8_t* out,
               std::uint32_t capacity, Layout& layout) {
  layout = {};
  layout.try_begin = kEnterBytes + more_enter_bytes(probe);
  layout.machine = probe.machine;
  const auto mapped = map_code(body, signature.is_void, layout.try_begin, probe.machine, map,
                               map_count, layout.handler);
  if (mapped != Reason::kNone) return mapped;
  if (const auto checked = check_targets(body, map); checked != Reason::kNone) return checked;
  layout.has_fault = probe.leave_fault != 0 && !probe.machine;
  layout.end =
      layout.handler + kLeaveProbeBytes + kEndFinallyBytes + (probe.machine ? kLocalBytes : 0);
  const auto code_size =
      layout.end + (layout.has_fault ? kLeaveProbeBytes : 0) + (signature.is_void ? 1 : 5);
  Writer to{out, capacity};
  constexpr std::uint32_t kFatHeader = 0x3003, kMoreSections = 8, kInitLocals = 0x10;
  to.number(kFatHeader | kMoreSections | (body.init_locals ? kInitLocals : 0), 2);
  const auto stack = probe.machine ? kStepStack : kProbeStack;
  to.number(body.max_stack > stack ? body.max_stack : stack, 2);
  to.number(code_size, 4);
  to.number(probe.locals_token, 4);
  put_enter(to, locals, probe);
  put_code(to, body, signature.is_void, locals, probe, map, layout);
  put_leave(to, locals, probe, layout.has_fault ? probe.leave_fault : probe.leave);
  to.op(kEndFinally);
  if (layout.has_fault) put_leave(to, locals, probe, probe.leave);
  if (!signature.is_void) to.local(kLdLoc, locals.result);
  to.op(kRet);
  if (to.ok() && to.at() != kHeaderBytes + code_size) return Reason::kDamaged;
  put_clauses(to, body, map, layout);
  layout.size = to.at();
  return to.ok() ? Reason::kNone : Reason::kTooLarge;
}

}  // namespace clrscope::il
