// The environment variables of a process, as its runtime tells them.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "ops/target.h"

namespace clrscope::ops {

Result<std::map<std::string, std::string>> environment(const TargetWish& wish);

}  // namespace clrscope::ops
