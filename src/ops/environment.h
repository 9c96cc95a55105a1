// The environment variables of a process, from its runtime.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "ops/target.h"

namespace clrscope::ops {

Result<std::map<std::string, std::string>> environment(const TargetRequest& request);

}  // namespace clrscope::ops
