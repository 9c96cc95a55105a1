// The sessions that a recording with the kernel opens in each runtime: exactly what was asked for,
// at the levels asked for, and what names need.
#pragma once

#include <vector>

#include "collect/machine/runtime_events.h"
#include "ops/plan.h"

namespace clrscope::ops {

// The first has the names, and the rundown at its end.
std::vector<collect::RuntimeEvents> runtime_sessions(const Plan& plan, std::uint32_t buffer_mb,
                                                     bool rundown);

}  // namespace clrscope::ops
