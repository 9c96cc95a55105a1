#include "http/json_body.h"

#include "base/text.h"

namespace clrscope::http {

Result<JsonValue> read_body(const Call& call) {
  auto body = read_json(call.request().body);
  if (!body) return fail(Errc::kUsage, "the body is not JSON: {}", body.error().what);
  if (body->object() == nullptr) return fail(Errc::kUsage, "the body must be a JSON object");
  return *std::move(body);
}

const JsonValue* find_member(const JsonValue& object, std::string_view name) {
  if (object.object() == nullptr) return nullptr;
  for (const auto& member : *object.object())
    if (equal_ignoring_case(member.name, name)) return &member.value;
  return nullptr;
}

Result<std::optional<bool>> truth_of(const JsonValue& object, std::string_view name) {
  const auto* value = find_member(object, name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (const auto truth = value->boolean()) return *truth;
  return fail(Errc::kUsage, "{} must be true or false", name);
}

Result<std::vector<std::string>> texts_of(const JsonValue& object, std::string_view name) {
  std::vector<std::string> texts;
  const auto* value = find_member(object, name);
  if (value == nullptr || value->is_null()) return texts;
  if (value->array() == nullptr) return fail(Errc::kUsage, "{} must be an array", name);
  for (const auto& one : *value->array()) {
    if (one.text() == nullptr) return fail(Errc::kUsage, "{} must hold strings only", name);
    texts.push_back(*one.text());
  }
  return texts;
}

}  // namespace clrscope::http
