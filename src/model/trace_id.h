// W3C trace ids as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/request.h"

namespace clrscope {

std::string to_text(const TraceId& id);  // 32 hexadecimal digits
std::optional<TraceId> parse_trace_id(std::string_view text);

}  // namespace clrscope
