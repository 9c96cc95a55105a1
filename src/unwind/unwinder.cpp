#include "unwind/unwinder.h"

#include <algorithm>

#include "unwind/code_scan_x64.h"
#include "unwind/expression_x64.h"
#include "unwind/osr_x64.h"

namespace clrscope::unwind {
namespace {

constexpr std::size_t kScanned = 512;  // bytes of code looked at ahead of the innermost frame

bool is_jitted(const CodeRange& range) {
  return range.kind == CodeKind::kJit || range.kind == CodeKind::kUnknown;
}

}  // namespace

// Where the walk is: registers of the frame whose caller is looked for.
struct Unwinder::Walk {
  Registers registers;
  const StackCopy& stack;
  bool interrupted = true;  // pc is no return address
  bool innermost = true;
  FoundBy found_by = FoundBy::kSample;
  const CodeRange* range = nullptr;  // of the frame's code, when it is known already
  Stop stop = Stop::kRoot;

  bool end(Stop reason) {
    stop = reason;
    return false;
  }
  // Goes to the caller; only registers given by the rule are known there.
  bool leave_for(const Registers& caller, const CodeRange* where, FoundBy how,
                 bool was_interrupted) {
    const auto sp = caller[kRsp];
    if (sp % 8 != 0) return end(Stop::kBadAddress);
    if (sp <= registers[kRsp] && !was_interrupted) return end(Stop::kLoop);
    registers = caller;
    range = where;
    found_by = how;
    interrupted = was_interrupted;
    innermost = false;
    return true;
  }
};

std::string_view name_of(Stop stop) {
  switch (stop) {
    case Stop::kRoot:
      return "root";
    case Stop::kNoMemory:
      return "stack copy too short";
    case Stop::kNoRule:
      return "no unwind rule";
    case Stop::kLoop:
      return "loop";
    case Stop::kBadAddress:
      return "return address outside of code";
    case Stop::kTooDeep:
      return "too deep";
  }
  return "?";
}

void AddressSpace::set(std::span<const CodeRange> ranges) {
  ranges_.clear();
  for (const auto& range : ranges) add(range);
}

void AddressSpace::remove(std::uint64_t start, std::uint64_t end) {
  std::vector<CodeRange> kept;
  kept.reserve(ranges_.size() + 1);
  for (const auto& range : ranges_) {
    if (range.end <= start || range.start >= end) {
      kept.push_back(range);
      continue;
    }
    auto part = range;
    if (range.start < start) part.end = start, kept.push_back(part);
    part = range;
    if (range.end > end) part.start = end, kept.push_back(part);
  }
  ranges_ = std::move(kept);
}

void AddressSpace::add(const CodeRange& range) {
  if (range.start >= range.end) return;
  const auto by_start = [](std::uint64_t address, const CodeRange& r) { return address < r.start; };
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), range.start, by_start);
  const bool overlaps = (after != ranges_.begin() && std::prev(after)->end > range.start) ||
                        (after != ranges_.end() && after->start < range.end);
  if (overlaps) {
    remove(range.start, range.end);
    after = std::upper_bound(ranges_.begin(), ranges_.end(), range.start, by_start);
  }
  ranges_.insert(after, range);
}

const CodeRange* AddressSpace::find(std::uint64_t address) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t wanted, const CodeRange& r) { return wanted < r.start; });
  if (after == ranges_.begin()) return nullptr;
  const auto& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

Unwound Unwinder::unwind(const Registers& registers, const StackCopy& stack,
                         std::span<Frame> frames) {
  Walk walk{.registers = registers, .stack = stack};
  std::size_t count = 0;
  while (true) {
    const auto pc = walk.registers[kRip];
    if (count == frames.size()) {
      walk.stop = Stop::kTooDeep;
      break;
    }
    if (count > 0 && pc == 0) {
      walk.stop = Stop::kRoot;
      break;
    }
    frames[count++] = {.pc = pc,
                       .sp = walk.registers[kRsp],
                       .found_by = walk.found_by,
                       .interrupted = walk.interrupted};
    if (!step(walk)) break;
  }
  ++stops_[static_cast<std::size_t>(walk.stop)];
  return {count, walk.stop};
}

bool Unwinder::step(Walk& walk) const {
  const auto pc = walk.registers[kRip];
  const auto lookup = walk.interrupted ? pc : pc - 1;
  const auto* range = walk.range ? walk.range : space_.find(lookup);
  if (!range) {
    // A call to nowhere leaves its return address on top of the stack.
    std::uint64_t caller = 0;
    if (!walk.innermost || !walk.stack.read(walk.registers[kRsp], caller) || !space_.find(caller))
      return walk.end(Stop::kBadAddress);
    auto registers = walk.registers;
    registers.set(kRip, caller);
    registers.set(kRsp, walk.registers[kRsp] + 8);
    return walk.leave_for(registers, nullptr, FoundBy::kLeaf, false);
  }
  if (const auto* table = range->table)
    if (const auto* rule = table->find(lookup - range->bias)) {
      if (range->kind == CodeKind::kR2r && walk.interrupted && by_instructions(walk, *range))
        return true;
      if (by_table(walk, *rule, table)) return true;
      // Hand-written code of the runtime has rows that are wrong after its tail calls.
      return walk.stop == Stop::kBadAddress && walk.interrupted && by_instructions(walk, *range);
    }
  if (range->kind == CodeKind::kJit && jit_) {
    UnwindRule rule;
    if (jit_->find(lookup, rule)) {
      if (walk.interrupted && by_instructions(walk, *range)) return true;
      return by_table(walk, rule, nullptr);
    }
  }
  if (walk.interrupted && by_instructions(walk, *range)) return true;
  walk.range = range;
  return by_rbp(walk);
}

bool Unwinder::by_table(Walk& walk, const UnwindRule& rule, const LazyTable* table) const {
  const auto& now = walk.registers;
  const auto evaluated = [&](std::int32_t number, std::optional<std::uint64_t> cfa) -> ExprValue {
    if (!table) return {0, ExprFault::kNoRule};
    return evaluate(table->expression(number), now, walk.stack, cfa);
  };
  const auto fault = [&](ExprFault why) {
    return walk.end(why == ExprFault::kNoMemory ? Stop::kNoMemory : Stop::kNoRule);
  };
  if (rule.of(kRip).kind() == Saved::kUndefined) return walk.end(Stop::kRoot);

  std::uint64_t cfa = 0;
  if (rule.cfa == UnwindRule::Cfa::kRegPlus) {
    if (!now.knows(rule.cfa_register)) return walk.end(Stop::kNoRule);
    cfa = now[rule.cfa_register] + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  } else if (rule.cfa == UnwindRule::Cfa::kExpr) {
    const auto value = evaluated(rule.cfa_offset, std::nullopt);
    if (value.fault != ExprFault::kNone) return fault(value.fault);
    cfa = value.value;
  } else {
    return walk.end(Stop::kNoRule);
  }

  Registers caller;
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    const auto reg = kKept[i];
    const auto& saved = rule.saved[i];
    const auto at = cfa + static_cast<std::uint64_t>(std::int64_t{saved.value()});
    const bool needed = reg == kRip;  // another one that cannot be read is merely not known
    std::uint64_t value = 0;
    switch (saved.kind()) {
      case Saved::kSame:
        if (reg == kRsp)
          caller.set(kRsp, cfa);
        else if (reg != kRip && now.knows(reg))
          caller.set(reg, now[reg]);
        break;
      case Saved::kUndefined:
        break;
      case Saved::kAtCfa:
        // Compilers leave the row as it is after a pop: below rsp means back in the register.
        if (at < now[kRsp] && !needed) {
          if (now.knows(reg)) caller.set(reg, now[reg]);
        } else if (walk.stack.read(at, value))
          caller.set(reg, value);
        else if (needed)
          return walk.end(Stop::kNoMemory);
        break;
      case Saved::kIsCfaPlus:
        caller.set(reg, at);
        break;
      case Saved::kInRegister:
        if (const auto other = static_cast<Reg>(saved.value()); now.knows(other))
          caller.set(reg, now[other]);
        break;
      case Saved::kAtExpr:
      case Saved::kIsExpr: {
        const auto result = evaluated(saved.value(), cfa);
        value = result.value;
        if (result.fault != ExprFault::kNone) {
          if (needed) return fault(result.fault);
        } else if (saved.kind() == Saved::kIsExpr || walk.stack.read(result.value, value)) {
          caller.set(reg, value);
        } else if (needed) {
          return walk.end(Stop::kNoMemory);
        }
        break;
      }
    }
  }
  if (!caller.knows(kRip) || !caller.knows(kRsp)) return walk.end(Stop::kNoRule);
  const auto* range = rule.signal_frame ? nullptr : space_.find(caller[kRip] - 1);
  if (!rule.signal_frame && caller[kRip] != 0 && !range) return walk.end(Stop::kBadAddress);
  return walk.leave_for(caller, range, table ? FoundBy::kTable : FoundBy::kJitInfo,
                        rule.signal_frame);
}

bool Unwinder::by_instructions(Walk& walk, const CodeRange& range) const {
  if (!code_) return false;
  std::array<std::uint8_t, kScanned> buffer;
  const auto pc = walk.registers[kRip];
  const auto wanted = std::min<std::uint64_t>(buffer.size(), range.end - pc);
  const auto size = code_->read(pc, std::span{buffer}.first(wanted));
  const Bytes code = Bytes{buffer}.first(std::min<std::size_t>(size, wanted));
  // A table or the runtime's codes know prologues, never epilogues.
  const bool has_rule = range.kind == CodeKind::kR2r || (range.kind == CodeKind::kJit && jit_);
  const auto place = has_rule ? scan_epilogue(code) : scan_ahead(code);
  if (place.how != CallerPlace::How::kFound) return false;

  const auto rsp = walk.registers[kRsp];
  auto caller = walk.registers;
  std::uint64_t value = 0;
  const auto return_at = rsp + static_cast<std::uint64_t>(place.return_offset);
  if (!walk.stack.read(return_at, value)) return false;
  const auto* where = space_.find(value - 1);
  if (!where) return false;
  caller.set(kRip, value);
  caller.set(kRsp, return_at + 8);
  if (place.rbp == CallerPlace::Rbp::kAtOffset) {
    if (!walk.stack.read(rsp + static_cast<std::uint64_t>(place.rbp_offset), value)) return false;
    caller.set(kRbp, value);
  }
  for (const auto reg : {kRbx, kR12, kR13, kR14, kR15}) caller.forget(reg);
  return walk.leave_for(caller, where, FoundBy::kInstructions, false);
}

bool Unwinder::by_rbp(Walk& walk) const {
  const auto rsp = walk.registers[kRsp];
  const auto rbp = walk.registers[kRbp];
  Registers caller;
  std::uint64_t saved = 0;
  std::uint64_t pc = 0;
  const bool sane = walk.registers.knows(kRbp) && rbp >= rsp && rbp % 8 == 0;
  const CodeRange* where = nullptr;
  if (sane && walk.stack.read(rbp, saved) && walk.stack.read(rbp + 8, pc) &&
      ((where = space_.find(pc - 1)) != nullptr || pc == 0)) {
    auto frame = rbp;
    if (where && code_ && is_jitted(*walk.range) && is_jitted(*where))
      if (const auto slot = replaced_frame(rbp, walk.stack, *code_, where->start)) {
        if (!walk.stack.read(*slot + 8, pc)) return walk.end(Stop::kNoMemory);
        if (!(where = space_.find(pc - 1))) return walk.end(Stop::kBadAddress);
        frame = *slot;
      }
    caller.set(kRbp, saved);
    caller.set(kRip, pc);
    caller.set(kRsp, frame + 16);
    return walk.leave_for(caller, where, FoundBy::kRbp, false);
  }
  // Caught before rbp was set: the return address lies on top.
  if (walk.innermost && walk.stack.read(rsp, pc) && (where = space_.find(pc - 1)) != nullptr) {
    caller = walk.registers;
    caller.set(kRip, pc);
    caller.set(kRsp, rsp + 8);
    return walk.leave_for(caller, where, FoundBy::kLeaf, false);
  }
  if (!walk.registers.knows(kRbp)) return walk.end(Stop::kNoRule);
  if (rbp == 0) return walk.end(Stop::kRoot);  // as the ABI has it for the outermost frame
  if (!sane) return walk.end(rbp < rsp ? Stop::kLoop : Stop::kBadAddress);
  return walk.end(walk.stack.read(rbp + 8, pc) ? Stop::kBadAddress : Stop::kNoMemory);
}

}  // namespace clrscope::unwind
