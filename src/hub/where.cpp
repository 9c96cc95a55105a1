#include "hub/where.h"

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "nettrace/event_json.h"
#include "nettrace/payload_text.h"

namespace clrscope::hub {
namespace {

std::optional<double> as_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

// Words apart by blanks; a value may stand in double quotes.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

Result<Where> Where::parse(std::string_view text) {
  Where where;
  for (const auto& word : words_of(text)) {
    const auto at = word.find_first_of("=!<>");
    const auto wrong = [&] {
      return fail(Errc::kUsage, "--where: '{}' is not a condition", word)
          .hint("write field=value, field!=value or field<number, such as: name=GC/Start Depth>=2");
    };
    if (at == std::string::npos || at == 0) return wrong();
    Condition condition{.key = word.substr(0, at)};
    auto value = at + 1;
    const bool equal = value < word.size() && word[value] == '=';
    if (equal) ++value;
    switch (word[at]) {
      case '=':
        condition.op = Op::kIs;
        break;
      case '!':
        if (!equal) return wrong();
        condition.op = Op::kIsNot;
        break;
      case '<':
        condition.op = equal ? Op::kLessOrEqual : Op::kLess;
        break;
      default:
        condition.op = equal ? Op::kMoreOrEqual : Op::kMore;
    }
    condition.text = word.substr(value);
    const auto number = as_number(condition.text);
    if (condition.op >= Op::kLess && !number)
      return fail(Errc::kUsage, "--where: '{}' compares with '{}', which is not a number", word,
                  condition.text);
    condition.number = number.value_or(std::nan(""));
    constexpr std::pair<std::string_view, Of> kWords[] = {
        {"provider", Of::kProvider}, {"name", Of::kName},   {"id", Of::kId},
        {"level", Of::kLevel},       {"pid", Of::kProcess}, {"tid", Of::kThread}};
    for (const auto& [name, of] : kWords)
      if (condition.key == name) condition.of = of;
    where.conditions_.push_back(std::move(condition));
  }
  return where;
}

bool Where::holds(const Condition& condition, std::string_view text) {
  switch (condition.op) {
    case Op::kIs:
      return glob_match(condition.text, text);
    case Op::kIsNot:
      return !glob_match(condition.text, text);
    default: {
      const auto number = as_number(text);
      return number && holds(condition, *number);
    }
  }
}

bool Where::holds(const Condition& condition, double number) {
  switch (condition.op) {
    case Op::kIs:
      return number == condition.number;
    case Op::kIsNot:
      return number != condition.number;
    case Op::kLess:
      return number < condition.number;
    case Op::kLessOrEqual:
      return number <= condition.number;
    case Op::kMore:
      return number > condition.number;
    case Op::kMoreOrEqual:
      return number >= condition.number;
  }
  return false;
}

bool Where::holds_field(const Condition& condition, const Event& event,
                        const nettrace::PayloadPlan& plan) {
  const auto index = plan.find(condition.key);
  if (!index) return false;
  const auto value = nettrace::read_field(plan, *index, event.payload);
  if (!value) return false;
  const auto& field = plan.fields()[*index];
  using Kind = nettrace::Value::Kind;
  if (condition.op >= Op::kLess || !std::isnan(condition.number)) {
    if (value->kind == Kind::kInt) return holds(condition, static_cast<double>(value->i));
    if (value->kind == Kind::kUInt || value->kind == Kind::kBool)
      return holds(condition, static_cast<double>(value->u));
    if (value->kind == Kind::kFloat || value->kind == Kind::kDouble)
      return holds(condition, value->f);
  }
  std::string text;
  nettrace::append_text(text, plan, field, *value);
  return holds(condition, text);
}

bool Where::passes(const Event& event, const nettrace::PayloadPlan& plan) const {
  for (const auto& one : conditions_) {
    switch (one.of) {
      case Of::kProvider:
        if (!holds(one, event.type->provider)) return false;
        break;
      case Of::kName:
        if (!holds(one, nettrace::event_name(*event.type, plan))) return false;
        break;
      case Of::kId:
        if (!holds(one, event.type->id)) return false;
        break;
      case Of::kLevel:
        if (!holds(one, event.type->level)) return false;
        break;
      case Of::kProcess:
        if (!holds(one, static_cast<double>(event.process))) return false;
        break;
      case Of::kThread:
        if (!holds(one, static_cast<double>(event.thread))) return false;
        break;
      case Of::kField:
        if (!holds_field(one, event, plan)) return false;
        break;
    }
  }
  return true;
}

}  // namespace clrscope::hub
