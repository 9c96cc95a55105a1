// Bodies of requests that are JSON objects; names of members compare without case, as clients of
// dotnet-monitor expect.
#pragma once

#include <string_view>

#include "base/json_reader.h"
#include "base/result.h"
#include "http/route.h"

namespace clrscope::http {

// The object that the body is; an empty body is an error.
Result<JsonValue> read_body(const Call& call);
const JsonValue* find_member(const JsonValue& object, std::string_view name);
// A member that is text, true or false, a list; nothing when it is not there or null.
Result<std::optional<bool>> truth_of(const JsonValue& object, std::string_view name);
Result<std::vector<std::string>> texts_of(const JsonValue& object, std::string_view name);

}  // namespace clrscope::http
