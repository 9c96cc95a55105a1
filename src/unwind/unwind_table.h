// How to get from a frame to its caller, for every address of one module.
//
// A table is sorted rows {address, rule}: a row holds up to the next one. Rules are few and shared,
// so a row is 8 bytes whatever it says. Made once per build-id, then only read: any thread may.
// cfi_table.h makes one from .eh_frame, r2r_table.h from the codes of a ReadyToRun image.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"

namespace clrscope::unwind {

// General registers in DWARF's order.
enum Reg : std::uint8_t {
  kRax,
  kRdx,
  kRcx,
  kRbx,
  kRsi,
  kRdi,
  kRbp,
  kRsp,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kRip,
};
inline constexpr std::size_t kRegCount = 17;

// The registers a rule speaks of: those that a callee keeps, and the return address.
inline constexpr std::array<Reg, 8> kKept{kRbx, kRbp, kRsp, kR12, kR13, kR14, kR15, kRip};
// Place of a register in kKept; nothing for the others.
std::optional<std::size_t> kept_index(std::uint64_t dwarf_register);

enum class Saved : std::uint8_t {
  kSame,        // still in the register
  kUndefined,   // lost; of the return address: this is the outermost frame
  kAtCfa,       // in memory at CFA + value
  kIsCfaPlus,   // is CFA + value
  kInRegister,  // in register number value
  kAtExpr,      // in memory where expression number value says
  kIsExpr,      // is what expression number value says
};

class RegRule {
 public:
  static constexpr std::int32_t kMost = (1 << 23) - 1;  // the largest value either way

  constexpr RegRule() = default;
  constexpr RegRule(Saved kind, std::int32_t value)
      : bits_(value * 256 + static_cast<std::int32_t>(kind)) {}
  constexpr Saved kind() const { return static_cast<Saved>(bits_ & 0xff); }
  constexpr std::int32_t value() const { return bits_ >> 8; }
  bool operator==(const RegRule&) const = default;

 private:
  std::int32_t bits_ = 0;  // the value above, the kind in the low byte
};
static_assert(sizeof(RegRule) == 4);

struct UnwindRule {
  // The canonical frame address is register + offset, or what an expression says.
  enum class Cfa : std::uint8_t { kNone, kRegPlus, kExpr };
  Cfa cfa = Cfa::kNone;
  Reg cfa_register = kRsp;
  bool signal_frame = false;
  std::uint8_t reserved = 0;
  std::int32_t cfa_offset = 0;  // or the number of the expression
  std::array<RegRule, 8> saved{};
  bool operator==(const UnwindRule&) const = default;

  RegRule& of(Reg reg) { return saved[*kept_index(reg)]; }
  const RegRule& of(Reg reg) const { return saved[*kept_index(reg)]; }
};
static_assert(sizeof(UnwindRule) == 40);

class UnwindTable {
 public:
  struct Row {
    std::uint32_t address;  // from the module's lowest address on
    std::uint32_t rule;     // index into rules; kNoRule in the gaps
  };
  static constexpr std::uint32_t kNoRule = ~std::uint32_t{0};

  // Null where nothing is known.
  const UnwindRule* find(std::uint64_t vaddr) const;
  // The bytes of an expression that a rule names; empty when there is no such one.
  Bytes expression(std::int32_t number) const;

  std::span<const Row> rows() const { return rows_; }
  std::span<const UnwindRule> rules() const { return rules_; }
  std::uint64_t base() const { return base_; }
  std::size_t damaged() const { return damaged_; }  // records that made no sense and were left out
  std::size_t memory_bytes() const;

 private:
  friend class UnwindTableBuilder;
  std::uint64_t base_ = 0;
  std::vector<Row> rows_;
  std::vector<UnwindRule> rules_;
  std::vector<std::uint8_t> expressions_;
  std::vector<std::uint32_t> expression_ends_;
  std::size_t damaged_ = 0;
};

struct RuleHash {
  std::size_t operator()(const UnwindRule& rule) const;
};

// Takes functions in the order of their addresses; what overlaps an earlier one is cut off.
class UnwindTableBuilder {
 public:
  explicit UnwindTableBuilder(std::uint64_t base) { table_.base_ = base; }

  // False when the function lies outside of what a table can hold, or wholly inside an earlier one.
  bool begin_function(std::uint64_t start, std::uint64_t end);
  // `rule` holds from `address` on; addresses do not fall within a function.
  void add(std::uint64_t address, const UnwindRule& rule);
  // Nothing is known from `address` to the function's end.
  void add_unknown(std::uint64_t address);
  std::optional<std::int32_t> add_expression(Bytes bytes);
  void count_damaged(std::size_t count) { table_.damaged_ += count; }

  UnwindTable take() &&;

 private:
  void put(std::uint64_t address, std::uint32_t rule);
  std::uint32_t number_of(const UnwindRule& rule);

  UnwindTable table_;
  std::uint64_t start_ = 0;  // of the open function, after cutting
  std::uint64_t end_ = 0;
  UnwindRule last_rule_;
  std::uint32_t last_number_ = UnwindTable::kNoRule;
  std::unordered_map<UnwindRule, std::uint32_t, RuleHash> rule_numbers_;
  std::unordered_map<std::string, std::int32_t> expression_numbers_;
};

}  // namespace clrscope::unwind
