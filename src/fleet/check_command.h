// clrscope-fleet check: whether the views of a ClickHouse store agree with its requests.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace clrscope::fleet {

// Exit code: 0, or 2 if they differ.
Result<int> check_command(std::span<const std::string_view> words);

}  // namespace clrscope::fleet
