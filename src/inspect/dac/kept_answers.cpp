#include "inspect/dac/kept_answers.h"

#include <array>
#include <string_view>

namespace clrscope::inspect::dac {
namespace {

constexpr std::size_t kMostTypes = 20'000, kMostMethods = 20'000;
// Flags, sizes, parent, module, class and instantiation of a type.
constexpr std::size_t kTableBytes = 64;
// Token, flags and place of a method; the pointer to what the runtime knows of its code, and the
// first instructions.
constexpr std::size_t kMethodBytes = 16, kCodeBytes = 40;
constexpr std::uint64_t kBeforeCode = 8;

// What the program makes at run time comes and goes without a trace.
bool is_lasting(const MethodInfo& method) {
  return !method.module.empty() && method.dynamic_object == 0;
}

}  // namespace

std::uint64_t KeptAnswers::mark_of(std::uint64_t address, std::size_t size) {
  std::array<std::uint8_t, kTableBytes> bytes{};
  static_assert(kTableBytes >= kCodeBytes && kTableBytes >= kMethodBytes);
  if (!memory_.read(address, std::span{bytes}.first(size))) return 0;
  const auto hash = std::hash<std::string_view>{}(as_text(std::span{bytes}.first(size)));
  return hash == 0 ? 1 : hash;
}

std::uint64_t KeptAnswers::mark_of(const MethodInfo& method) {
  const auto name = mark_of(method.method_desc, kMethodBytes);
  const auto code = mark_of(method.code_start - kBeforeCode, kCodeBytes);
  return name == 0 || code == 0 ? 0 : name * 31 + code;
}

bool KeptAnswers::may_be_table(std::uint64_t address) {
  return is_method_table(address, [&](std::uint64_t at, std::uint64_t& word) {
    const auto read = memory_.pointer(at);
    word = read.value_or(0);
    return read.has_value();
  });
}

const TypeInfo* KeptAnswers::type(std::uint64_t method_table) {
  const auto known = types_.find(method_table);
  if (known == types_.end()) return nullptr;
  auto& type = known->second;
  if (type.look == look_) return &type.info;
  if (type.mark == 0 || type.mark != mark_of(method_table, kTableBytes)) {
    types_.erase(known);
    return nullptr;
  }
  type.look = look_;
  return &type.info;
}

const TypeInfo& KeptAnswers::keep(TypeInfo type) {
  if (types_.size() >= kMostTypes) types_.clear();
  const auto table = type.method_table;
  const auto mark = mark_of(table, kTableBytes);
  return (types_[table] = {.info = std::move(type), .mark = mark, .look = look_}).info;
}

KeptAnswers::Method* KeptAnswers::find(std::uint64_t pc) {
  auto after = methods_.upper_bound(pc);
  if (after == methods_.begin()) return nullptr;
  const auto known = --after;
  auto& method = known->second;
  if (pc - method.info.code_start >= method.info.code_size) return nullptr;
  if (method.look == look_) return &method;
  if (!is_lasting(method.info) || method.mark == 0 || method.mark != mark_of(method.info)) {
    methods_.erase(known);
    return nullptr;
  }
  method.look = look_;
  return &method;
}

const MethodInfo* KeptAnswers::method(std::uint64_t pc) {
  const auto* const known = find(pc);
  return known ? &known->info : nullptr;
}

MethodInfo KeptAnswers::keep(MethodInfo method) {
  if (method.code_size == 0) return method;
  if (methods_.size() >= kMostMethods) methods_.clear();
  methods_[method.code_start] = {.info = method, .mark = mark_of(method), .look = look_};
  return method;
}

std::optional<std::optional<std::uint32_t>> KeptAnswers::il_offset(std::uint64_t pc) {
  const auto* const method = find(pc);
  if (!method) return {};
  const auto known = method->il_offsets.find(pc);
  if (known == method->il_offsets.end()) return {};
  return known->second;
}

void KeptAnswers::keep_il_offset(std::uint64_t pc, std::optional<std::uint32_t> offset) {
  if (auto* const method = find(pc)) method->il_offsets[pc] = offset;
}

}  // namespace clrscope::inspect::dac
