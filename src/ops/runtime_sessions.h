// The sessions that a recording with the kernel opens in each runtime: the requested providers at
// their levels, and what method names need.
#pragma once

#include <vector>

#include "collect/machine/runtime_events.h"
#include "ops/plan.h"

namespace clrscope::ops {

// The first has the names, and the rundown at its end.
std::vector<collect::RuntimeEvents> runtime_sessions(const Plan& plan, std::uint32_t buffer_mb,
                                                     bool rundown);

}  // namespace clrscope::ops
