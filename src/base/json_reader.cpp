#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace clrscope {
namespace {

constexpr int kMostNested = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonValue> whole() {
    auto value = TRY(read(0));
    skip_space();
    if (at_ != text_.size()) return wrong("more text after the value");
    return value;
  }

 private:
  Failure wrong(std::string_view what) const {
    return fail(Errc::kCorrupt, "invalid JSON at byte {}: {}", at_, what);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view{" \t\r\n"}.find(text_[at_]) != text_.npos) ++at_;
  }

  Result<JsonValue> read(int depth) {
    if (depth > kMostNested) return wrong("nested too deeply");
    skip_space();
    switch (peek()) {
      case '{':
        return read_object(depth);
      case '[':
        return read_array(depth);
      case '"':
        return JsonValue{TRY(read_string())};
      case 't':
        if (take_word("true")) return JsonValue{true};
        break;
      case 'f':
        if (take_word("false")) return JsonValue{false};
        break;
      case 'n':
        if (take_word("null")) return JsonValue{};
        break;
      default:
        return read_number();
    }
    return wrong("unknown word");
  }

  Result<JsonValue> read_object(int depth) {
    JsonValue::Object members;
    take('{');
    skip_space();
    if (take('}')) return JsonValue{std::move(members)};
    do {
      skip_space();
      if (peek() != '"') return wrong("a member needs a name");
      auto name = TRY(read_string());
      skip_space();
      if (!take(':')) return wrong("a colon is missing");
      auto value = TRY(read(depth + 1));
      members.push_back({std::move(name), std::move(value)});
      skip_space();
    } while (take(','));
    if (!take('}')) return wrong("the object is not closed");
    return JsonValue{std::move(members)};
  }

  Result<JsonValue> read_array(int depth) {
    JsonValue::Array values;
    take('[');
    skip_space();
    if (take(']')) return JsonValue{std::move(values)};
    do {
      values.push_back(TRY(read(depth + 1)));
      skip_space();
    } while (take(','));
    if (!take(']')) return wrong("the array is not closed");
    return JsonValue{std::move(values)};
  }

  Result<JsonValue> read_number() {
    const auto start = at_;
    bool whole = true;
    take('-');
    if (!take('0') && !take_digits()) return wrong("no value");
    if (take('.')) {
      whole = false;
      if (!take_digits()) return wrong("a fraction needs digits");
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (!take('+')) take('-');
      if (!take_digits()) return wrong("an exponent needs digits");
    }
    const auto* const begin = text_.data() + start;
    const auto* const end = text_.data() + at_;
    if (std::int64_t number = 0; whole && std::from_chars(begin, end, number).ec == std::errc{})
      return JsonValue{number};
    double number = 0;
    if (std::from_chars(begin, end, number).ec != std::errc{}) return wrong("number out of range");
    return JsonValue{number};
  }
  bool take_digits() {
    const auto start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > start;
  }

  Result<std::string> read_string() {
    std::string out;
    take('"');
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return wrong("a control character in a string");
      ++at_;
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (!read_escape(out)) return wrong("unknown escape");
    }
    return wrong("the string is not closed");
  }

  bool read_escape(std::string& out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    ++at_;
    if (letter != 'u') {
      const auto found = kLetters.find(letter);
      if (letter == '\0' || found == kLetters.npos) return false;
      out += kMeanings[found];
      return true;
    }
    auto unit = read_unit();
    if (!unit) return false;
    std::uint32_t point = *unit;
    if (point >= 0xdc00 && point < 0xe000) return false;
    if (point >= 0xd800 && point < 0xdc00) {
      if (!take_word("\\u") || !(unit = read_unit()) || *unit < 0xdc00 || *unit >= 0xe000)
        return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (*unit - 0xdc00);
    }
    append_point(out, point);
    return true;
  }

  std::optional<std::uint32_t> read_unit() {
    const auto digits = text_.substr(std::min(at_, text_.size()), 4);
    std::uint32_t unit = 0;
    if (digits.size() != 4) return {};
    const auto* const end = digits.data() + 4;
    if (std::from_chars(digits.data(), end, unit, 16).ptr != end) return {};
    at_ += 4;
    return unit;
  }

  static void append_point(std::string& out, std::uint32_t point) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
      put(0xc0 | point >> 6);
    } else if (point < 0x10000) {
      put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 0x3f));
    } else {
      put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 0x3f)), put(0x80 | (point >> 6 & 0x3f));
    }
    put(0x80 | (point & 0x3f));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<bool> JsonValue::boolean() const {
  const auto* const value = std::get_if<bool>(&value_);
  return value ? std::optional{*value} : std::nullopt;
}

std::optional<std::int64_t> JsonValue::integer() const {
  const auto* const value = std::get_if<std::int64_t>(&value_);
  return value ? std::optional{*value} : std::nullopt;
}

std::optional<double> JsonValue::number() const {
  if (const auto whole = integer()) return static_cast<double>(*whole);
  const auto* const value = std::get_if<double>(&value_);
  return value ? std::optional{*value} : std::nullopt;
}

const JsonValue* JsonValue::find(std::string_view name) const {
  if (const auto* const members = object())
    for (const auto& member : *members)
      if (member.name == name) return &member.value;
  return nullptr;
}

std::string scalar_text(const JsonValue& value) {
  if (const auto* text = value.text()) return *text;
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  if (const auto whole = value.integer()) return fmt::format("{}", *whole);
  if (const auto number = value.number()) return fmt::format("{}", *number);
  return {};
}

std::string text_at(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value && value->text() ? *value->text() : std::string{};
}

std::vector<std::string> texts_at(const JsonValue& object, std::string_view name) {
  std::vector<std::string> out;
  const auto* value = object.find(name);
  if (value && value->array())
    for (const auto& one : *value->array())
      if (one.text()) out.push_back(*one.text());
  return out;
}

std::uint64_t count_at(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  const auto number = value ? value->integer() : std::nullopt;
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

double number_at(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value ? value->number().value_or(0) : 0;
}

std::chrono::nanoseconds ms_at(const JsonValue& object, std::string_view name) {
  const auto ms = number_at(object, name);
  if (!(ms >= 0 && ms < 1e12)) return {};  // it must fit
  return std::chrono::nanoseconds{std::llround(ms * 1e6)};
}

bool truth_at(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value && value->boolean().value_or(false);
}

Result<JsonValue> read_json(std::string_view text) { return Reader{text}.whole(); }

}  // namespace clrscope
