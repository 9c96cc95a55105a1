// clrscope-fleet tenants: asks a running server what its tenants use of what they may.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace clrscope::fleet {

Result<int> list_tenants(std::span<const std::string_view> words);

}  // namespace clrscope::fleet
