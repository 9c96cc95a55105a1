#include "unwind/lazy_table.h"

#include <algorithm>

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxExpressions = 10'000;
constexpr std::size_t kRuleNode = sizeof(UnwindRule) + 32;  // in a map: number, hash, links

}  // namespace

void LazyTable::open() const {
  opened_ = true;
  if (find_parts_)
    if (auto parts = find_parts_(); parts && !parts->starts.empty()) {
      parts_ = *std::move(parts);
      of_parts_.parts.resize(parts_.starts.size());
      return;
    }
  if (make_) whole_ = make_();
}

const UnwindRule* LazyTable::find(std::uint64_t vaddr) const {
  used_ = true;
  if (!opened_) open();
  if (parts_.starts.empty()) return whole_.find(vaddr);
  if (vaddr < parts_.base || vaddr - parts_.base > ~std::uint32_t{0}) return nullptr;
  const auto address = static_cast<std::uint32_t>(vaddr - parts_.base);
  const auto after = std::ranges::upper_bound(parts_.starts, address);
  if (after == parts_.starts.begin()) return nullptr;
  const auto part = static_cast<std::size_t>(after - parts_.starts.begin()) - 1;
  if (of_parts_.parts[part].first == Rows::kNotMade) make_part(part);
  const auto [first, count] = of_parts_.parts[part];
  const auto rows = std::span{of_parts_.rows}.subspan(first, count);
  const auto next = std::ranges::upper_bound(rows, address, {}, &UnwindTable::Row::address);
  if (next == rows.begin()) return nullptr;
  const auto rule = std::prev(next)->rule;
  return rule == UnwindTable::kNoRule ? nullptr : &of_parts_.rules[rule];
}

void LazyTable::make_part(std::size_t part) const {
  const auto table = parts_.make(part);
  auto& rows = of_parts_.rows;
  const auto first = static_cast<std::uint32_t>(rows.size());
  std::vector<std::uint32_t> numbers;  // here, of the rules there
  numbers.reserve(table.rules().size());
  for (const auto& rule : table.rules()) numbers.push_back(number_of(rule, table));
  for (const auto& row : table.rows()) {
    const auto address = table.base() + row.address - parts_.base;
    if (address > ~std::uint32_t{0}) continue;  // the index of a damaged file led elsewhere
    rows.push_back({static_cast<std::uint32_t>(address),
                    row.rule == UnwindTable::kNoRule ? row.rule : numbers[row.rule]});
  }
  of_parts_.parts[part] = {first, static_cast<std::uint32_t>(rows.size()) - first};
}

std::uint32_t LazyTable::number_of(UnwindRule rule, const UnwindTable& from) const {
  if (rule.cfa == UnwindRule::Cfa::kExpr) {
    const auto number = number_of_expression(from.expression(rule.cfa_offset));
    if (!number) return UnwindTable::kNoRule;
    rule.cfa_offset = *number;
  }
  for (auto& saved : rule.saved) {
    if (saved.kind() != Saved::kAtExpr && saved.kind() != Saved::kIsExpr) continue;
    const auto number = number_of_expression(from.expression(saved.value()));
    if (!number) return UnwindTable::kNoRule;
    saved = {saved.kind(), *number};
  }
  const auto [known, is_new] =
      of_parts_.numbers.try_emplace(rule, static_cast<std::uint32_t>(of_parts_.rules.size()));
  if (is_new) of_parts_.rules.push_back(rule);
  return known->second;
}

std::optional<std::int32_t> LazyTable::number_of_expression(Bytes bytes) const {
  auto& all = of_parts_.expressions;  // a handful
  const auto known = std::ranges::find(all, as_text(bytes));
  const auto number = static_cast<std::int32_t>(known - all.begin());
  if (known != all.end()) return number;
  if (all.size() >= kMaxExpressions) return std::nullopt;
  all.emplace_back(as_text(bytes));
  return number;
}

Bytes LazyTable::expression_of_parts(std::int32_t number) const {
  const auto& all = of_parts_.expressions;
  if (number < 0 || static_cast<std::size_t>(number) >= all.size()) return {};
  const auto& text = all[static_cast<std::size_t>(number)];
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::size_t LazyTable::memory_bytes() const {
  return whole_.memory_bytes() + parts_.starts.capacity() * sizeof(std::uint32_t) +
         of_parts_.parts.capacity() * sizeof(Rows) +
         of_parts_.rows.capacity() * sizeof(UnwindTable::Row) +
         of_parts_.rules.capacity() * sizeof(UnwindRule) + of_parts_.numbers.size() * kRuleNode;
}

void LazyTable::forget() {
  if (!make_) return;
  whole_ = {};
  parts_ = {};
  of_parts_ = {};
  opened_ = false;
}

}  // namespace clrscope::unwind
