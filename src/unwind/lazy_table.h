// An unwind table that is made when stacks lead into it: whole, or a few functions at a time.
//
// Of a large program stacks see a small part, and its whole table may take more memory than all
// else that a recording needs. Belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unwind/unwind_table.h"

namespace clrscope::unwind {

// How the table of a file is made part by part.
struct TableParts {
  std::uint64_t base = 0;
  std::vector<std::uint32_t> starts{};  // of parts, sorted, from base on: each reaches to the next
  std::function<UnwindTable(std::size_t part)> make{};
};

class LazyTable {
 public:
  using MakeWhole = std::function<UnwindTable()>;
  using FindParts = std::function<std::optional<TableParts>()>;

  LazyTable() = default;  // an empty one
  explicit LazyTable(UnwindTable table) : whole_(std::move(table)), opened_(true) {}
  // Whole where no parts are found.
  explicit LazyTable(MakeWhole make, FindParts find = {})
      : make_(std::move(make)), find_parts_(std::move(find)) {}

  // Null where nothing is known. Lives until the next call.
  const UnwindRule* find(std::uint64_t vaddr) const;
  // The bytes of an expression that a rule names; empty when there is no such one.
  Bytes expression(std::int32_t number) const {
    return parts_.starts.empty() ? whole_.expression(number) : expression_of_parts(number);
  }

  bool made() const { return opened_; }  // any of it
  std::size_t memory_bytes() const;
  bool take_used() { return std::exchange(used_, false); }  // since the last call
  // It will be made again if need be.
  void forget();

 private:
  struct Rows {
    static constexpr std::uint32_t kNotMade = ~std::uint32_t{0};
    std::uint32_t first = kNotMade;  // in rows_
    std::uint32_t count = 0;
  };
  // Those of all parts made so far; what they share is kept once.
  struct Made {
    std::vector<Rows> parts{};
    std::vector<UnwindTable::Row> rows{};  // part after part
    std::vector<UnwindRule> rules{};
    std::unordered_map<UnwindRule, std::uint32_t, RuleHash> numbers{};
    std::vector<std::string> expressions{};
  };

  void open() const;
  void make_part(std::size_t part) const;
  std::uint32_t number_of(UnwindRule rule, const UnwindTable& from) const;
  std::optional<std::int32_t> number_of_expression(Bytes bytes) const;
  Bytes expression_of_parts(std::int32_t number) const;

  MakeWhole make_;
  FindParts find_parts_;
  mutable UnwindTable whole_;  // unless there are parts
  mutable TableParts parts_;
  mutable Made of_parts_;
  mutable bool opened_ = false;
  mutable bool used_ = false;
};

}  // namespace clrscope::unwind
