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
    case Unit::kSeconds:
      return "s";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPercent:
      return "%";
    case Unit::kPerSecond:
      return "1/s";
  }
  return "";
}

const Shape& object_of(const ValueShape& value) {
  return value.shape ? *value.shape : value.object();
}

void write_type(JsonWriter& json, std::string_view type, bool nullable) {
  if (nullable)
    json.key("type").begin_array().value(type).value("null").end_array();
  else
    json.member("type", type);
}

void write_properties(JsonWriter& json, const Shape& shape, std::string_view references) {
  for (const auto& one : shape.members()) {
    if (one.name.empty()) {
      write_properties(json, one.value->object(), references);
      continue;
    }
    json.key(one.name).begin_object();
    write_value_schema(json, *one.value, references);
    json.member("description", one.meaning);
    const auto unit = one.unit != Unit::kNone ? one.unit : one.value->unit;
    if (unit != Unit::kNone) json.member("x-unit", text_of(unit));
    json.end_object();
  }
}

void write_required(JsonWriter& json, const Shape& shape) {
  for (const auto& one : shape.members()) {
    if (one.name.empty())
      write_required(json, one.value->object());
    else if (!one.value->optional)
      json.value(one.name);
  }
}

}  // namespace

void write_value_schema(JsonWriter& json, const ValueShape& value, std::string_view references) {
  switch (value.kind) {
    case Kind::kTruth:
      write_type(json, "boolean", value.nullable);
      break;
    case Kind::kWhole:
      write_type(json, "integer", value.nullable);
      break;
    case Kind::kNumber:  // what is not finite is null
      write_type(json, "number", value.nullable || !value.finite);
      break;
    case Kind::kText:
      write_type(json, "string", value.nullable);
      break;
    case Kind::kTime:
      write_type(json, "string", value.nullable);
      json.member("format", "date-time");
      break;
    case Kind::kChoice:
      write_type(json, "string", value.nullable);
      json.key("enum").begin_array();
      for (const auto name : value.choices()) json.value(name);
      if (value.nullable) json.null();
      json.end_array();
      break;
    case Kind::kList:
      write_type(json, "array", value.nullable);
      json.key("items").begin_object();
      write_value_schema(json, *value.element, references);
      json.end_object();
      break;
    case Kind::kMap:
      write_type(json, "object", value.nullable);
      json.key("additionalProperties").begin_object();
      write_value_schema(json, *value.element, references);
      json.end_object();
      break;
    case Kind::kObject: {
      const auto reference = fmt::format("{}{}", references, object_of(value).name());
      if (!value.nullable) {
        json.member("$ref", reference);
        break;
      }
      json.key("anyOf").begin_array();
      json.begin_object().member("$ref", reference).end_object();
      json.begin_object().member("type", "null").end_object().end_array();
      break;
    }
    case Kind::kAny:
      break;
    case Kind::kAlternatives:
      json.key("anyOf").begin_array();
      for (const auto& one : value.alternatives()) {
        json.begin_object();
        write_value_schema(json, one, references);
        json.end_object();
      }
      json.end_array();
      break;
  }
}

void gather_shapes(const ValueShape& value, std::map<std::string_view, const Shape*>& all) {
  if (value.element) gather_shapes(*value.element, all);
  if (value.kind == Kind::kObject) gather_shapes(object_of(value), all);
  if (value.kind == Kind::kAlternatives)
    for (const auto& one : value.alternatives()) gather_shapes(one, all);
}

void Shape::write(JsonWriter& json, const void* object) const {
  json.begin_object();
  write_members(json, object);
  json.end_object();
}

void Shape::write_members(JsonWriter& json, const void* object) const {
  for (const auto& one : members_) {
    const auto* value = one.at(object);
    if (one.name.empty()) {
      one.value->object().write_members(json, value);
      continue;
    }
    if (one.value->absent && one.value->absent(value)) continue;
    json.key(one.name);
    one.value->write(json, value);
  }
}

void write_schema(JsonWriter& json, const Shape& shape, std::string_view references) {
  json.begin_object().member("type", "object").member("description", shape.meaning());
  json.key("properties").begin_object();
  write_properties(json, shape, references);
  json.end_object().key("required").begin_array();
  write_required(json, shape);
  json.end_array().end_object();
}

void gather_shapes(const Shape& shape, std::map<std::string_view, const Shape*>& all) {
  if (!all.emplace(shape.name(), &shape).second) return;
  for (const auto& one : shape.members()) {
    if (one.name.empty()) {
      for (const auto& inner : one.value->object().members()) gather_shapes(*inner.value, all);
      continue;
    }
    gather_shapes(*one.value, all);
  }
}

std::vector<const Member*> written_members(const Shape& shape) {
  std::vector<const Member*> all;
  for (const auto& one : shape.members()) {
    if (!one.name.empty()) {
      all.push_back(&one);
      continue;
    }
    const auto inner = written_members(object_of(*one.value));
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

}  // namespace clrscope
