// Reads JSON text (RFC 8259) into values.
//
// Strict: what is no JSON is an error that names the byte. Nesting is bounded; the size is the
// caller's to bound. Strings are UTF-8 as they lie in the text.
#pragma once

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

Result<JsonValue> read_json(std::string_view text);

}  // namespace clrscope
