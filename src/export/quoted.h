// Text as a JSON string, for formats that write their JSON by hand.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace clrscope::exports {

inline std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace clrscope::exports
