#include "unwind/cfi_table.h"

#include <limits>

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxRemembered = 64;

// Runs one program after another on one state: the CIE's, then an FDE's.
class Program {
 public:
  Program(UnwindTableBuilder& table, const FrameCie& cie) : table_(table), cie_(cie) {
    rule_.signal_frame = cie.signal_frame;
  }

  // The CIE's instructions: what holds at every function's start.
  bool run_initial() {
    emit_ = false;
    const bool ok = run(cie_.program, 0);
    initial_ = rule_;
    return ok;
  }
  void set_initial(const UnwindRule& rule) { initial_ = rule_ = rule; }
  const UnwindRule& initial() const { return initial_; }

  // One function's instructions: its rows go to the table.
  bool run_function(const FrameFde& fde) {
    emit_ = true;
    remembered_.clear();
    const bool ok = run(fde.program, fde.start);
    if (!ok) table_.add_unknown(at_);
    return ok;
  }

 private:
  bool run(Bytes program, std::uint64_t start) {
    at_ = start;
    ByteReader in{program};
    while (!in.at_end()) {
      if (!step(in)) return false;
      if (!in.ok()) return false;
    }
    if (emit_) table_.add(at_, rule_);
    return true;
  }

  void advance(std::uint64_t distance) {
    if (emit_) table_.add(at_, rule_);
    at_ += distance * cie_.code_align;
  }

  bool step(ByteReader& in) {
    const auto op = in.read<std::uint8_t>();
    const auto low = static_cast<std::uint8_t>(op & 0x3f);
    switch (op >> 6) {
      case 1:
        advance(low);
        return true;
      case 2:
        return save(low, Saved::kAtCfa, factored(in.read_varuint()));
      case 3:
        return restore(low);
      default:
        return extended(low, in);
    }
  }

  bool extended(std::uint8_t op, ByteReader& in) {
    switch (op) {
      case 0x00:
        return true;  // nop
      case 0x01:
        return false;  // set_loc: no compiler writes it into .eh_frame
      case 0x02:
        advance(in.read<std::uint8_t>());
        return true;
      case 0x03:
        advance(in.read<std::uint16_t>());
        return true;
      case 0x04:
        advance(in.read<std::uint32_t>());
        return true;
      case 0x05: {  // offset_extended
        const auto reg = in.read_varuint();
        return save(reg, Saved::kAtCfa, factored(in.read_varuint()));
      }
      case 0x06:
        return restore(in.read_varuint());
      case 0x07:
        return save(in.read_varuint(), Saved::kUndefined, 0);
      case 0x08:
        return save(in.read_varuint(), Saved::kSame, 0);
      case 0x09: {  // register
        const auto reg = in.read_varuint();
        const auto other = in.read_varuint();
        return other < kRegCount && save(reg, Saved::kInRegister, static_cast<std::int64_t>(other));
      }
      case 0x0a:  // remember_state
        if (remembered_.size() >= kMaxRemembered) return false;
        remembered_.push_back(rule_);
        return true;
      case 0x0b:  // restore_state
        if (remembered_.empty()) return false;
        rule_ = remembered_.back();
        remembered_.pop_back();
        return true;
      case 0x0c: {  // def_cfa
        const auto reg = in.read_varuint();
        return cfa_register(reg) && cfa_offset(plain(in.read_varuint()));
      }
      case 0x0d:
        return cfa_register(in.read_varuint());
      case 0x0e:
        return cfa_offset(plain(in.read_varuint()));
      case 0x0f:
        return cfa_expression(block(in));
      case 0x10: {  // expression
        const auto reg = in.read_varuint();
        return save_expression(reg, Saved::kAtExpr, block(in));
      }
      case 0x11: {  // offset_extended_sf
        const auto reg = in.read_varuint();
        return save(reg, Saved::kAtCfa, factored_signed(read_sleb(in)));
      }
      case 0x12: {  // def_cfa_sf
        const auto reg = in.read_varuint();
        return cfa_register(reg) && cfa_offset(factored_signed(read_sleb(in)));
      }
      case 0x13:
        return cfa_offset(factored_signed(read_sleb(in)));
      case 0x14: {  // val_offset
        const auto reg = in.read_varuint();
        return save(reg, Saved::kIsCfaPlus, factored(in.read_varuint()));
      }
      case 0x15: {  // val_offset_sf
        const auto reg = in.read_varuint();
        return save(reg, Saved::kIsCfaPlus, factored_signed(read_sleb(in)));
      }
      case 0x16: {  // val_expression
        const auto reg = in.read_varuint();
        return save_expression(reg, Saved::kIsExpr, block(in));
      }
      case 0x2e:
        (void)in.read_varuint();
        return true;  // GNU_args_size
      default:
        return false;
    }
  }

  static std::int64_t plain(std::uint64_t value) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    return value > kMost ? std::numeric_limits<std::int64_t>::max()
                         : static_cast<std::int64_t>(value);
  }
  std::int64_t factored(std::uint64_t value) const { return factored_signed(plain(value)); }
  std::int64_t factored_signed(std::int64_t value) const {
    std::int64_t product = 0;
    return __builtin_mul_overflow(value, cie_.data_align, &product)
               ? std::numeric_limits<std::int64_t>::max()
               : product;
  }
  static Bytes block(ByteReader& in) { return in.take(in.read_varuint()); }

  bool save(std::uint64_t reg, Saved kind, std::int64_t value) {
    if (value > RegRule::kMost || value < -RegRule::kMost) return false;
    // The column of the return address may have any number; what a callee may spoil is not kept.
    const auto kept = kept_index(reg == cie_.return_register ? std::uint64_t{kRip} : reg);
    if (kept) rule_.saved[*kept] = {kind, static_cast<std::int32_t>(value)};
    return true;
  }
  bool save_expression(std::uint64_t reg, Saved kind, Bytes bytes) {
    if (!kept_index(reg)) return true;
    const auto number = table_.add_expression(bytes);
    return number && save(reg, kind, *number);
  }
  bool restore(std::uint64_t reg) {
    const auto kept = kept_index(reg == cie_.return_register ? std::uint64_t{kRip} : reg);
    if (kept) rule_.saved[*kept] = initial_.saved[*kept];
    return true;
  }
  bool cfa_register(std::uint64_t reg) {
    if (reg >= kRip) return false;
    if (rule_.cfa != UnwindRule::Cfa::kRegPlus) rule_.cfa_offset = 0;
    rule_.cfa = UnwindRule::Cfa::kRegPlus;
    rule_.cfa_register = static_cast<Reg>(reg);
    return true;
  }
  bool cfa_offset(std::int64_t offset) {
    if (rule_.cfa != UnwindRule::Cfa::kRegPlus) return false;
    if (offset > std::numeric_limits<std::int32_t>::max() ||
        offset < std::numeric_limits<std::int32_t>::min())
      return false;
    rule_.cfa_offset = static_cast<std::int32_t>(offset);
    return true;
  }
  bool cfa_expression(Bytes bytes) {
    const auto number = table_.add_expression(bytes);
    if (!number) return false;
    rule_.cfa = UnwindRule::Cfa::kExpr;
    rule_.cfa_register = kRsp;
    rule_.cfa_offset = *number;
    return true;
  }

  UnwindTableBuilder& table_;
  const FrameCie& cie_;
  UnwindRule rule_;
  UnwindRule initial_;
  std::vector<UnwindRule> remembered_;
  std::uint64_t at_ = 0;
  bool emit_ = false;
};

}  // namespace

UnwindTable make_cfi_table(const FrameRecords& records) {
  UnwindTableBuilder table{records.fdes.empty() ? 0 : records.fdes.front().start};
  table.count_damaged(records.damaged);

  // The CIEs' rules, once each: nothing for one whose program is broken.
  std::vector<std::optional<UnwindRule>> initial;
  initial.reserve(records.cies.size());
  for (const auto& cie : records.cies) {
    Program program{table, cie};
    initial.push_back(program.run_initial() ? std::optional{program.initial()} : std::nullopt);
  }
  for (const auto& fde : records.fdes) {
    const auto& rule = initial[fde.cie];
    if (!rule) table.count_damaged(1);
    // Folded functions have several records of one range: the first counts.
    if (!rule || !table.begin_function(fde.start, fde.end)) continue;
    Program program{table, records.cies[fde.cie]};
    program.set_initial(*rule);
    if (!program.run_function(fde)) table.count_damaged(1);
  }
  return std::move(table).take();
}

UnwindTable make_cfi_table(const ElfPiece& eh_frame) {
  return make_cfi_table(read_frame_records(eh_frame));
}

UnwindTable make_cfi_table(const ElfFile& file, std::span<const std::uint64_t> vaddrs) {
  const auto records = find_frame_records(file, vaddrs);
  return records ? make_cfi_table(*records) : make_cfi_table(file);
}

UnwindTable make_cfi_table(const ElfFile& file) {
  const auto eh_frame = file.eh_frame();
  return eh_frame ? make_cfi_table(*eh_frame) : UnwindTable{};
}

}  // namespace clrscope::unwind
