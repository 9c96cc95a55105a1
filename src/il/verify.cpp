#include "il/verify.h"

#include <algorithm>
#include <map>
#include <vector>

namespace clrscope::il {
namespace {

constexpr int kUnseen = -1;

struct Effect {
  int pops = -1;  // -1: by the token
  int pushes = 0;
};

struct Range {
  std::uint16_t first, last;
  int pops, pushes;
};
// ECMA-335 III.3 and III.4; call, callvirt, newobj, calli and ret are not among them.
constexpr Range kEffects[] = {
    {0x00, 0x01, 0, 0},     {0x02, 0x09, 0, 1},     {0x0a, 0x0d, 1, 0},     {0x0e, 0x0f, 0, 1},
    {0x10, 0x10, 1, 0},     {0x11, 0x12, 0, 1},     {0x13, 0x13, 1, 0},     {0x14, 0x23, 0, 1},
    {0x25, 0x25, 1, 2},     {0x26, 0x26, 1, 0},     {0x27, 0x27, 0, 0},     {0x2b, 0x2b, 0, 0},
    {0x2c, 0x2d, 1, 0},     {0x2e, 0x37, 2, 0},     {0x38, 0x38, 0, 0},     {0x39, 0x3a, 1, 0},
    {0x3b, 0x44, 2, 0},     {0x45, 0x45, 1, 0},     {0x46, 0x50, 1, 1},     {0x51, 0x57, 2, 0},
    {0x58, 0x64, 2, 1},     {0x65, 0x6e, 1, 1},     {0x70, 0x70, 2, 0},     {0x71, 0x71, 1, 1},
    {0x72, 0x72, 0, 1},     {0x74, 0x76, 1, 1},     {0x79, 0x79, 1, 1},     {0x7a, 0x7a, 1, 0},
    {0x7b, 0x7c, 1, 1},     {0x7d, 0x7d, 2, 0},     {0x7e, 0x7f, 0, 1},     {0x80, 0x80, 1, 0},
    {0x81, 0x81, 2, 0},     {0x82, 0x8e, 1, 1},     {0x8f, 0x9a, 2, 1},     {0x9b, 0xa2, 3, 0},
    {0xa3, 0xa3, 2, 1},     {0xa4, 0xa4, 3, 0},     {0xa5, 0xa5, 1, 1},     {0xb3, 0xba, 1, 1},
    {0xc2, 0xc3, 1, 1},     {0xc6, 0xc6, 1, 1},     {0xd0, 0xd0, 0, 1},     {0xd1, 0xd5, 1, 1},
    {0xd6, 0xdb, 2, 1},     {0xdc, 0xde, 0, 0},     {0xdf, 0xdf, 2, 0},     {0xe0, 0xe0, 1, 1},
    {0xfe00, 0xfe00, 0, 1}, {0xfe01, 0xfe05, 2, 1}, {0xfe06, 0xfe06, 0, 1}, {0xfe07, 0xfe07, 1, 1},
    {0xfe09, 0xfe0a, 0, 1}, {0xfe0b, 0xfe0b, 1, 0}, {0xfe0c, 0xfe0d, 0, 1}, {0xfe0e, 0xfe0e, 1, 0},
    {0xfe0f, 0xfe0f, 1, 1}, {0xfe11, 0xfe11, 1, 0}, {0xfe12, 0xfe14, 0, 0}, {0xfe15, 0xfe15, 1, 0},
    {0xfe16, 0xfe16, 0, 0}, {0xfe17, 0xfe18, 3, 0}, {0xfe19, 0xfe1a, 0, 0}, {0xfe1c, 0xfe1c, 0, 1},
    {0xfe1d, 0xfe1d, 1, 1}, {0xfe1e, 0xfe1e, 0, 0},
};

Effect effect_of_opcode(std::uint16_t opcode) {
  for (const auto& range : kEffects)
    if (opcode >= range.first && opcode <= range.last) return {range.pops, range.pushes};
  return {};
}

enum class Kind { kTry, kCatch, kFilter, kFinally };
struct Region {
  Kind kind;
  std::uint32_t begin, end;
  std::uint32_t size() const { return end - begin; }
  bool has(std::uint32_t offset) const { return offset >= begin && offset < end; }
  bool encloses(const Region& other) const { return begin <= other.begin && other.end <= end; }
  bool touches(const Region& other) const { return begin < other.end && other.begin < end; }
};

std::string at(std::uint32_t offset, const char* what) {
  return "at " + std::to_string(offset) + ": " + what;
}

class Checker {
 public:
  Checker(const Body& body, bool is_void, const CallEffect& calls)
      : body_(body), is_void_(is_void), calls_(calls) {}

  std::string run() {
    read_instructions();
    if (wrong_.empty()) read_clauses();
    if (wrong_.empty()) walk();
    return wrong_;
  }

 private:
  void blame(std::uint32_t offset, const char* what) {
    if (wrong_.empty()) wrong_ = at(offset, what);
  }

  void read_instructions() {
    starts_.assign(body_.code_size + 1, false);
    Instruction instruction;
    for (std::uint32_t offset = 0; offset < body_.code_size; offset += instruction.size) {
      if (!decode(body_.code, body_.code_size, offset, instruction))
        return blame(offset, "not an instruction");
      starts_[offset] = true;
    }
    starts_[body_.code_size] = true;
    depths_.assign(body_.code_size, kUnseen);
  }

  bool is_start(std::int64_t offset) const {
    return offset >= 0 && offset < body_.code_size && starts_[static_cast<std::size_t>(offset)];
  }

  void add_region(Kind kind, std::uint32_t offset, std::uint64_t length) {
    if (!is_start(offset) || length == 0 || offset + length > body_.code_size ||
        !starts_[offset + length])
      return blame(offset, "a clause does not begin and end at instructions");
    regions_.push_back({kind, offset, static_cast<std::uint32_t>(offset + length)});
  }

  void read_clauses() {
    std::vector<std::vector<Region>> clauses;
    for (std::uint32_t i = 0; i < body_.clause_count && wrong_.empty(); ++i) {
      const auto clause = clause_at(body_, i);
      const auto before = regions_.size();
      add_region(Kind::kTry, clause.try_offset, clause.try_length);
      const bool is_finally = clause.flags == kFinally || clause.flags == kFault;
      add_region(is_finally ? Kind::kFinally : Kind::kCatch, clause.handler_offset,
                 clause.handler_length);
      entries_[clause.handler_offset] = is_finally ? 0 : 1;
      if (clause.flags == kFilter) {
        if (clause.token_or_filter >= clause.handler_offset)
          return blame(clause.handler_offset, "a filter does not lie before its handler");
        add_region(Kind::kFilter, clause.token_or_filter,
                   clause.handler_offset - clause.token_or_filter);
        entries_[clause.token_or_filter] = 1;
      }
      if (!wrong_.empty()) return;
      clauses.emplace_back(regions_.begin() + static_cast<std::ptrdiff_t>(before), regions_.end());
    }
    for (std::size_t i = 0; i < clauses.size() && wrong_.empty(); ++i) {
      if (clauses[i][0].touches(clauses[i][1]))
        blame(clauses[i][1].begin, "a handler is in its own try");
      for (std::size_t j = i + 1; j < clauses.size(); ++j) check_pair(clauses[i], clauses[j]);
    }
  }

  // The earlier clause must be the inner one.
  void check_pair(const std::vector<Region>& earlier, const std::vector<Region>& later) {
    for (const auto& a : earlier) {
      for (const auto& b : later) {
        if (!a.touches(b)) continue;
        const bool same = a.begin == b.begin && a.end == b.end;
        if (same && a.kind == Kind::kTry && b.kind == Kind::kTry) continue;
        if (same && (a.kind == Kind::kTry) != (b.kind == Kind::kTry)) continue;
        if (same) return blame(a.begin, "two handlers are the same code");
        if (!b.encloses(a) && !a.encloses(b)) return blame(b.begin, "clauses overlap");
        if (a.encloses(b)) return blame(b.begin, "an inner clause comes after an outer one");
      }
    }
  }

  // The regions around an offset, the outermost first. Equal ones keep the order of the clauses.
  std::vector<const Region*> around(std::uint32_t offset) const {
    std::vector<const Region*> out;
    for (const auto& region : regions_) {
      if (!region.has(offset)) continue;
      // Catch blocks that share a try: one region.
      const bool known = std::ranges::any_of(out, [&](const Region* other) {
        return other->begin == region.begin && other->end == region.end &&
               other->kind == region.kind;
      });
      if (!known) out.push_back(&region);
    }
    std::ranges::stable_sort(out, std::greater{}, [](const Region* one) { return one->size(); });
    return out;
  }

  // A way that is neither leave nor an exception: only into the beginning of a try, or nowhere.
  void check_flow(std::uint32_t from, std::uint32_t to) {
    const auto source = around(from), target = around(to);
    for (std::size_t i = 0; i < source.size(); ++i)
      if (i >= target.size() || target[i] != source[i])
        return blame(from, "leaves an exception clause without leave");
    for (auto i = source.size(); i < target.size(); ++i)
      if (target[i]->kind != Kind::kTry || target[i]->begin != to)
        return blame(from, "enters the middle of an exception clause");
    if (target.size() > source.size() && depths_[to] > 0)
      blame(to, "enters a try with values on the stack");
  }

  void check_leave(std::uint32_t from, std::uint32_t to) {
    const auto source = around(from), target = around(to);
    if (source.empty()) return blame(from, "leave outside of exception clauses");
    std::size_t common = 0;
    while (common < source.size() && common < target.size() && source[common] == target[common])
      ++common;
    for (auto i = common; i < source.size(); ++i)
      if (source[i]->kind == Kind::kFinally || source[i]->kind == Kind::kFilter)
        return blame(from, "leave out of a finally block or filter");
    for (auto i = common; i < target.size(); ++i)
      if (target[i]->kind != Kind::kTry || (target[i]->begin != to && common == source.size()))
        return blame(from, "leave into an exception clause");
  }

  void reach(std::uint32_t from, std::int64_t to, int depth) {
    if (!is_start(to)) return blame(from, "a branch does not lead to an instruction");
    const auto target = static_cast<std::uint32_t>(to);
    if (depths_[target] == kUnseen) {
      depths_[target] = depth;
      work_.push_back(target);
    } else if (depths_[target] != depth) {
      blame(target, "the depth of the stack differs between the ways to it");
    }
  }

  void walk() {
    depths_[0] = 0;
    work_.push_back(0);
    for (const auto& [offset, depth] : entries_) reach(offset, offset, depth);
    while (!work_.empty() && wrong_.empty()) {
      const auto offset = work_.back();
      work_.pop_back();
      step(offset);
    }
  }

  Effect effect(const Instruction& instruction) {
    if (instruction.opcode == kRet) return {is_void_ ? 0 : 1, 0};
    const auto fixed = effect_of_opcode(instruction.opcode);
    if (fixed.pops >= 0) return fixed;
    const auto called = calls_(instruction.opcode, read32(body_.code + instruction.operand));
    if (!called) return blame(instruction.offset, "an unknown method is called"), Effect{0, 0};
    return {static_cast<int>(called->pops), static_cast<int>(called->pushes)};
  }

  void step(std::uint32_t offset) {
    Instruction instruction;
    if (!decode(body_.code, body_.code_size, offset, instruction)) return;
    const auto opcode = instruction.opcode;
    int depth = depths_[offset];
    const auto [pops, pushes] = effect(instruction);
    if (depth < pops) return blame(offset, "takes more from the stack than is there");
    depth += pushes - pops;
    if (depth > static_cast<int>(body_.max_stack)) return blame(offset, "the stack is too deep");
    check_end(instruction, depth);
    const bool is_leave = opcode == kLeave || opcode == kLeaveShort;
    if (is_short_branch(opcode) || is_long_branch(opcode)) {
      const auto target = branch_target(body_.code, instruction);
      reach(offset, target, is_leave ? 0 : depth);
      if (!wrong_.empty()) return;
      if (is_leave)
        check_leave(offset, static_cast<std::uint32_t>(target));
      else
        check_flow(offset, static_cast<std::uint32_t>(target));
    } else if (opcode == kSwitch) {
      for (std::uint32_t i = 0; i < switch_count(body_.code, instruction); ++i) {
        const auto target = switch_target(body_.code, instruction, i);
        reach(offset, target, depth);
        if (!wrong_.empty()) return;
        check_flow(offset, static_cast<std::uint32_t>(target));
      }
    }
    const bool ends = opcode == kBr || opcode == kBrShort || is_leave || opcode == kRet ||
                      opcode == kThrow || opcode == kRethrow || opcode == kEndFinally ||
                      opcode == kEndFilter || opcode == kJmp;
    if (ends) return;
    const auto next = offset + instruction.size;
    if (next >= body_.code_size) return blame(offset, "runs past the end of the code");
    reach(offset, next, depth);
    if (wrong_.empty()) check_flow(offset, next);
  }

  void check_end(const Instruction& instruction, int depth) {
    const auto regions = around(instruction.offset);
    const auto inside = [&](Kind kind) { return !regions.empty() && regions.back()->kind == kind; };
    switch (instruction.opcode) {
      case kRet:
        if (!regions.empty()) blame(instruction.offset, "ret in an exception clause");
        if (depth != 0) blame(instruction.offset, "ret with values on the stack");
        break;
      case kEndFinally:
        if (!inside(Kind::kFinally))
          blame(instruction.offset, "endfinally outside of a finally block");
        break;
      case kEndFilter:
        if (!inside(Kind::kFilter)) blame(instruction.offset, "endfilter outside of a filter");
        break;
      default:
        break;
    }
  }

  const Body& body_;
  bool is_void_;
  const CallEffect& calls_;
  std::vector<bool> starts_;
  std::vector<int> depths_;
  std::vector<std::uint32_t> work_;
  std::vector<Region> regions_;
  std::map<std::uint32_t, int> entries_;
  std::string wrong_;
};

}  // namespace

std::string verify(const Body& body, bool is_void, const CallEffect& calls) {
  return Checker{body, is_void, calls}.run();
}

std::string verify_rewritten(const Body& body, const Layout& layout, bool is_void,
                             const CallEffect& calls) {
  if (auto wrong = verify(body, is_void, calls); !wrong.empty()) return wrong;
  if (body.clause_count == 0) return "no clauses";
  const auto last = clause_at(body, body.clause_count - 1);
  if (last.flags != (layout.has_fault ? kFault : kFinally) || last.try_offset != layout.try_begin ||
      last.try_offset + last.try_length != layout.handler ||
      last.handler_offset != layout.handler ||
      last.handler_offset + last.handler_length != layout.end)
    return "the last clause is not a finally block around the method";
  bool leaves_at_end = false;
  Instruction instruction;
  for (std::uint32_t offset = 0; offset < body.code_size; offset += instruction.size) {
    if (!decode(body.code, body.code_size, offset, instruction)) return at(offset, "not decoded");
    const auto opcode = instruction.opcode;
    if (opcode == kRet && offset + 1 != body.code_size)
      return at(offset, "a return that is not the last instruction");
    if (opcode == kJmp || opcode == kTail) return at(offset, "a way out that is not a return");
    leaves_at_end = leaves_at_end || (opcode == kCalli && offset >= layout.end);
    const bool branches = is_short_branch(opcode) || is_long_branch(opcode);
    const auto target = branches ? branch_target(body.code, instruction) : 0;
    if (branches && target >= layout.end && offset < layout.end &&
        (opcode != kLeave || target != layout.end || offset < layout.try_begin ||
         offset >= layout.handler))
      return at(offset, "reaches the return without the leave probe");
    if (branches && offset < layout.try_begin && target != layout.try_begin)
      return at(offset, "the enter probe leads into the method");
    if (branches && offset >= layout.try_begin && offset < layout.handler &&
        target < layout.try_begin)
      return at(offset, "runs the enter probe twice");
  }
  if (leaves_at_end != layout.has_fault) return "the leave probe is not on the way out, or twice";
  return instruction.opcode == kRet ? "" : "the last instruction is not a return";
}

std::string compare(const Body& original, const Body& rewritten, const Layout& layout,
                    bool is_void) {
  std::map<std::uint32_t, std::uint32_t> moved;  // old offset to new
  Instruction old, made;
  std::uint32_t to = layout.try_begin;
  for (std::uint32_t from = 0; from < original.code_size; from += old.size) {
    if (!decode(original.code, original.code_size, from, old)) return at(from, "not decoded");
    moved[from] = to;
    to += inserted_before(layout.machine, from);
    if (old.opcode == kTail) continue;
    if (!decode(rewritten.code, rewritten.code_size, to, made)) return at(to, "not decoded");
    if (old.opcode == kRet && !is_void) {
      if (made.opcode != kStLoc) return at(to, "a value is returned and not stored");
      to += made.size;
      if (!decode(rewritten.code, rewritten.code_size, to, made)) return at(to, "not decoded");
    }
    auto expected = old.opcode == kRet ? std::uint16_t{kLeave} : old.opcode;
    if (is_short_branch(expected)) expected = long_form(expected);
    if (made.opcode != expected) return at(to, "another instruction");
    const bool moves = is_long_branch(expected) || expected == kSwitch;
    if (!moves && !std::equal(original.code + old.operand, original.code + from + old.size,
                              rewritten.code + made.operand, rewritten.code + to + made.size))
      return at(to, "another operand");
    to += made.size;
  }
  moved[original.code_size] = to;
  if (to != layout.handler) return at(to, "the method does not end at the leave probe");
  const auto is_moved = [&](std::int64_t before, std::int64_t after) {
    if (before < 0 || before > original.code_size) return false;
    const auto found = moved.find(static_cast<std::uint32_t>(before));
    return found != moved.end() && found->second == after;
  };
  for (const auto& [from, start] : moved) {
    if (from == original.code_size) break;
    if (!decode(original.code, original.code_size, from, old) || old.opcode == kTail) continue;
    const auto code = start + inserted_before(layout.machine, from);
    if (!decode(rewritten.code, rewritten.code_size, code, made)) return at(code, "not decoded");
    if (is_short_branch(old.opcode) || is_long_branch(old.opcode)) {
      if (!is_moved(branch_target(original.code, old), branch_target(rewritten.code, made)))
        return at(start, "another target");
    } else if (old.opcode == kSwitch) {
      if (switch_count(original.code, old) != switch_count(rewritten.code, made))
        return at(start, "another number of targets");
      for (std::uint32_t i = 0; i < switch_count(original.code, old); ++i)
        if (!is_moved(switch_target(original.code, old, i), switch_target(rewritten.code, made, i)))
          return at(start, "another target of switch");
    }
  }
  if (rewritten.clause_count != original.clause_count + 1) return "another number of clauses";
  for (std::uint32_t i = 0; i < original.clause_count; ++i) {
    const auto a = clause_at(original, i), b = clause_at(rewritten, i);
    const bool same =
        a.flags == b.flags && is_moved(a.try_offset, b.try_offset) &&
        is_moved(a.try_offset + a.try_length, b.try_offset + b.try_length) &&
        is_moved(a.handler_offset, b.handler_offset) &&
        is_moved(a.handler_offset + a.handler_length, b.handler_offset + b.handler_length);
    const bool rest = a.flags == kFilter ? is_moved(a.token_or_filter, b.token_or_filter)
                                         : a.token_or_filter == b.token_or_filter;
    if (!same || !rest) return "clause " + std::to_string(i) + " differs";
  }
  return "";
}

std::optional<StackEffect> effect_of(std::uint16_t opcode, const std::uint8_t* signature,
                                     std::uint32_t size) {
  MethodSignature parsed;
  // A signature of a call may be one with variable arguments, or of native code: only the counts
  // matter here.
  std::vector<std::uint8_t> plain{signature, signature + size};
  if (plain.empty()) return {};
  plain[0] &= 0xf0;
  if (parse_method_signature(plain.data(), size, parsed) != Reason::kNone) return {};
  StackEffect out{parsed.parameters, parsed.is_void ? 0U : 1U};
  if (opcode == kNewObj) return StackEffect{parsed.parameters, 1};
  constexpr std::uint8_t kExplicitThis = 0x40;
  if (parsed.has_this && (plain[0] & kExplicitThis) == 0) ++out.pops;
  if (opcode == kCalli) ++out.pops;
  return out;
}

}  // namespace clrscope::il
