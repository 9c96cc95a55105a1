// The parts of an OpenAPI description that all our servers write in the same way.
//
// Each server has its own table of routes and decides what of it is described.
#pragma once

#include <map>
#include <string_view>

#include "base/json.h"
#include "base/shape.h"

namespace clrscope::site {

struct ApiParameter {
  enum class In : std::uint8_t { kQuery, kPath };
  std::string_view name;
  std::string_view type;  // "integer", "string", "boolean", "number"
  std::string_view help;
  In in = In::kQuery;
};

using NamedShapes = std::map<std::string_view, const Shape*>;

// Begins the object: openapi, info.
void begin_api(JsonWriter& json, std::string_view title, std::string_view version,
               std::string_view description);
// Members of the object of a parameter, which is open.
void write_parameter(JsonWriter& json, const ApiParameter& parameter);
// "schema" of an open object.
void write_schema_of(JsonWriter& json, const ValueShape& shape);
// "content" of an answer that has one type.
void write_content(JsonWriter& json, std::string_view type, const ValueShape& shape);
// "content" of an answer that is a file.
void write_binary_content(JsonWriter& json, std::string_view type);
// "security" of a route; an empty name: none.
void write_security(JsonWriter& json, std::string_view scheme);
// "components", and the end of the object.
void end_api(JsonWriter& json, const NamedShapes& shapes, std::string_view scheme,
             std::string_view scheme_help);

inline constexpr std::string_view kSchemas = "#/components/schemas/";

}  // namespace clrscope::site
