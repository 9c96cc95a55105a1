// From -p, -n, --diagnostic-port and -- COMMAND to a wish.
#pragma once

#include "base/result.h"
#include "cli/args.h"
#include "ops/target.h"

namespace clrscope::cli {

Result<ops::TargetWish> target_wish(const Args& args);

}  // namespace clrscope::cli
