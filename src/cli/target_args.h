// From -p, -n, --diagnostic-port and -- COMMAND to a request.
#pragma once

#include "base/result.h"
#include "cli/args.h"
#include "ops/target.h"

namespace clrscope::cli {

Result<ops::TargetRequest> target_request(const Args& args);
// For verbs that take -a too: one or the other.
Result<ops::TargetRequest> machine_or_target(const Args& args);

// Of --symbol-dir; empty without it.
Result<std::string> symbol_folder(const Args& args);

}  // namespace clrscope::cli
