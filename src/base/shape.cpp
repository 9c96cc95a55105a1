#include "base/shape.h"

#include <fmt/format.h>

namespace clrscope {
namespace {

using Kind = ValueShape::Kind;

std::string_view text_of(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kMs:
      return "ms";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPercent:
      return "%";
    case Unit::kPerSecond:
      return "1/s";
  }
  return "";
}

void write_value_schema(JsonWriter& json, const ValueShape& value, std::string_view references) {
  switch (value.kind) {
    case Kind::kTruth:
      json.member("type", "boolean");
      break;
    case Kind::kWhole:
      json.member("type", "integer");
      break;
    case Kind::kNumber:  // what is not finite is null
      json.key("type").begin_array().value("number").value("null").end_array();
      break;
    case Kind::kText:
      json.member("type", "string");
      break;
    case Kind::kTime:
      json.member("type", "string").member("format", "date-time");
      break;
    case Kind::kChoice:
      json.member("type", "string").key("enum").begin_array();
      for (const auto name : value.choices()) json.value(name);
      json.end_array();
      break;
    case Kind::kList:
      json.member("type", "array").key("items").begin_object();
      write_value_schema(json, *value.element, references);
      json.end_object();
      break;
    case Kind::kMap:
      json.member("type", "object").key("additionalProperties").begin_object();
      write_value_schema(json, *value.element, references);
      json.end_object();
      break;
    case Kind::kObject:
      json.member("$ref", fmt::format("{}{}", references, value.object().name()));
      break;
  }
}

void gather_value(const ValueShape& value, std::map<std::string_view, const Shape*>& all) {
  if (value.element) gather_value(*value.element, all);
  if (value.kind == Kind::kObject) gather_shapes(value.object(), all);
}

}  // namespace

void Shape::write(JsonWriter& json, const void* object) const {
  json.begin_object();
  write_members(json, object);
  json.end_object();
}

void Shape::write_members(JsonWriter& json, const void* object) const {
  for (const auto& one : members_) {
    const auto* value = one.at(object);
    if (one.value->absent && one.value->absent(value)) continue;
    json.key(one.name);
    one.value->write(json, value);
  }
}

void write_schema(JsonWriter& json, const Shape& shape, std::string_view references) {
  json.begin_object().member("type", "object").member("description", shape.meaning());
  json.key("properties").begin_object();
  for (const auto& one : shape.members()) {
    json.key(one.name).begin_object();
    write_value_schema(json, *one.value, references);
    json.member("description", one.meaning);
    const auto unit = one.unit != Unit::kNone ? one.unit : one.value->unit;
    if (unit != Unit::kNone) json.member("x-unit", text_of(unit));
    json.end_object();
  }
  json.end_object().key("required").begin_array();
  for (const auto& one : shape.members())
    if (!one.value->optional) json.value(one.name);
  json.end_array().end_object();
}

void gather_shapes(const Shape& shape, std::map<std::string_view, const Shape*>& all) {
  if (!all.emplace(shape.name(), &shape).second) return;
  for (const auto& one : shape.members()) gather_value(*one.value, all);
}

}  // namespace clrscope
