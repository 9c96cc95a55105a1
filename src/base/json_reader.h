// Reads JSON text (RFC 8259) into values.
//
// Strict: invalid JSON is an error that names the byte. All members of an object are kept, also two
// of one name, so that callers can refuse them. Nesting is bounded; the caller bounds the size.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace clrscope {

class JsonValue {
 public:
  struct Member;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;  // in the order of the text

  JsonValue() = default;
  template <class T>
  explicit JsonValue(T value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  std::optional<bool> boolean() const;
  // Whole numbers without fraction or exponent that fit.
  std::optional<std::int64_t> integer() const;
  std::optional<double> number() const;
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  // A member of an object; null when it has none of that name or is no object.
  const JsonValue* find(std::string_view name) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

struct JsonValue::Member {
  std::string name;
  JsonValue value;
};

// A text, number or truth as people read it; of all else nothing.
std::string scalar_text(const JsonValue& value);
// Members of an object that we wrote ourselves: empty when there is none of that name and type.
std::string text_at(const JsonValue& object, std::string_view name);
std::vector<std::string> texts_at(const JsonValue& object, std::string_view name);
std::uint64_t count_at(const JsonValue& object, std::string_view name);  // from 0
double number_at(const JsonValue& object, std::string_view name);
std::chrono::nanoseconds ms_at(const JsonValue& object, std::string_view name);
bool truth_at(const JsonValue& object, std::string_view name);

Result<JsonValue> read_json(std::string_view text);

}  // namespace clrscope
