// What works here: for the route and for the page.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ops/check.h"

namespace clrscope::http {

class Call;

// Of the process that the request names, or of none.
Result<ops::CheckReport> check_for(const Call& call);

}  // namespace clrscope::http
