#include "site/openapi.h"

namespace clrscope::site {

void begin_api(JsonWriter& json, std::string_view title, std::string_view version,
               std::string_view description) {
  json.begin_object().member("openapi", "3.1.0").key("info").begin_object();
  json.member("title", title).member("version", version);
  json.member("description", description).end_object();
}

void write_parameter(JsonWriter& json, const ApiParameter& parameter) {
  const bool in_path = parameter.in == ApiParameter::In::kPath;
  json.member("name", parameter.name).member("in", in_path ? "path" : "query");
  json.member("required", in_path).member("description", parameter.help);
  json.key("schema").begin_object().member("type", parameter.type).end_object();
}

void write_schema_of(JsonWriter& json, const ValueShape& shape) {
  json.key("schema").begin_object();
  write_value_schema(json, shape, kSchemas);
  json.end_object();
}

void write_content(JsonWriter& json, std::string_view type, const ValueShape& shape) {
  json.key("content").begin_object().key(type).begin_object();
  write_schema_of(json, shape);
  json.end_object().end_object();
}

void write_binary_content(JsonWriter& json, std::string_view type) {
  json.key("content").begin_object().key(type).begin_object().key("schema").begin_object();
  json.member("type", "string").member("format", "binary");
  json.end_object().end_object().end_object();
}

void write_security(JsonWriter& json, std::string_view scheme) {
  json.key("security").begin_array();
  if (!scheme.empty()) json.begin_object().key(scheme).begin_array().end_array().end_object();
  json.end_array();
}

void end_api(JsonWriter& json, const NamedShapes& shapes, std::string_view scheme,
             std::string_view scheme_help) {
  json.key("components").begin_object().key("schemas").begin_object();
  for (const auto& [name, shape] : shapes) {
    json.key(name);
    write_schema(json, *shape, kSchemas);
  }
  json.end_object().key("securitySchemes").begin_object().key(scheme).begin_object();
  json.member("type", "http").member("scheme", "bearer").member("description", scheme_help);
  json.end_object().end_object().end_object().end_object();
}

}  // namespace clrscope::site
