#include "unwind/unwind_table.h"

#include <algorithm>
#include <type_traits>

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxRows = 8'000'000;
constexpr std::size_t kMaxExpressions = 100'000;

}  // namespace

std::optional<std::size_t> kept_index(std::uint64_t dwarf_register) {
  for (std::size_t i = 0; i < kKept.size(); ++i)
    if (kKept[i] == dwarf_register) return i;
  return std::nullopt;
}

const UnwindRule* UnwindTable::find(std::uint64_t vaddr) const {
  if (vaddr < base_ || vaddr - base_ > ~std::uint32_t{0}) return nullptr;
  const auto address = static_cast<std::uint32_t>(vaddr - base_);
  const auto after =
      std::upper_bound(rows_.begin(), rows_.end(), address,
                       [](std::uint32_t wanted, const Row& row) { return wanted < row.address; });
  if (after == rows_.begin()) return nullptr;
  const auto rule = std::prev(after)->rule;
  return rule == kNoRule ? nullptr : &rules_[rule];
}

Bytes UnwindTable::expression(std::int32_t number) const {
  const auto index = static_cast<std::size_t>(number);
  if (number < 0 || index >= expression_ends_.size()) return {};
  const std::size_t start = index == 0 ? 0 : expression_ends_[index - 1];
  return Bytes{expressions_}.subspan(start, expression_ends_[index] - start);
}

std::size_t UnwindTable::memory_bytes() const {
  return rows_.capacity() * sizeof(Row) + rules_.capacity() * sizeof(UnwindRule) +
         expressions_.capacity() + expression_ends_.capacity() * sizeof(std::uint32_t);
}

bool UnwindTableBuilder::begin_function(std::uint64_t start, std::uint64_t end) {
  start = std::max(start, end_);  // end_ is still the earlier function's
  if (start < table_.base_ || start >= end || end - table_.base_ > ~std::uint32_t{0}) return false;
  if (table_.rows_.size() >= kMaxRows) return false;
  // A gap after the earlier function: nothing is known there.
  if (!table_.rows_.empty() && start > end_) put(end_, UnwindTable::kNoRule);
  start_ = start;
  end_ = end;
  return true;
}

void UnwindTableBuilder::add(std::uint64_t address, const UnwindRule& rule) {
  if (address < end_) put(std::max(address, start_), number_of(rule));
}

void UnwindTableBuilder::add_unknown(std::uint64_t address) {
  if (address < end_) put(std::max(address, start_), UnwindTable::kNoRule);
}

void UnwindTableBuilder::put(std::uint64_t address, std::uint32_t rule) {
  auto& rows = table_.rows_;
  const auto relative = static_cast<std::uint32_t>(address - table_.base_);
  if (!rows.empty() && rows.back().address > relative) return;  // a hostile program ran backwards
  if (!rows.empty() && rows.back().address == relative) rows.pop_back();
  if (!rows.empty() && rows.back().rule == rule) return;
  if (rows.size() < kMaxRows) rows.push_back({relative, rule});
}

std::size_t RuleHash::operator()(const UnwindRule& rule) const {
  static_assert(std::has_unique_object_representations_v<UnwindRule> && sizeof rule == 40);
  std::array<std::uint64_t, 5> words;
  __builtin_memcpy(words.data(), &rule, sizeof rule);
  std::uint64_t hash = 0;
  for (const auto word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
  return hash;
}

std::uint32_t UnwindTableBuilder::number_of(const UnwindRule& rule) {
  if (last_number_ != UnwindTable::kNoRule && rule == last_rule_) return last_number_;
  const auto [known, is_new] =
      rule_numbers_.try_emplace(rule, static_cast<std::uint32_t>(table_.rules_.size()));
  if (is_new) table_.rules_.push_back(rule);
  last_rule_ = rule;
  last_number_ = known->second;
  return last_number_;
}

std::optional<std::int32_t> UnwindTableBuilder::add_expression(Bytes bytes) {
  auto& ends = table_.expression_ends_;
  const std::string key{as_text(bytes)};
  if (const auto known = expression_numbers_.find(key); known != expression_numbers_.end())
    return known->second;
  if (ends.size() >= kMaxExpressions || bytes.size() > 256) return std::nullopt;
  const auto number = static_cast<std::int32_t>(ends.size());
  table_.expressions_.insert(table_.expressions_.end(), bytes.begin(), bytes.end());
  ends.push_back(static_cast<std::uint32_t>(table_.expressions_.size()));
  expression_numbers_.emplace(key, number);
  return number;
}

UnwindTable UnwindTableBuilder::take() && {
  if (!table_.rows_.empty()) put(end_, UnwindTable::kNoRule);
  table_.rows_.shrink_to_fit();
  table_.rules_.shrink_to_fit();
  return std::move(table_);
}

}  // namespace clrscope::unwind
