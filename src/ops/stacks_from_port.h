// Stacks by way of the diagnostic port: a short session of the runtime's own sampler.
//
// For a process whose memory may not be read. Managed frames only, no locks; the runtime stops the
// process for each round of samples, and must answer at all.
#pragma once

#include "base/result.h"
#include "inspect/snapshot.h"
#include "ops/target.h"

namespace clrscope::ops {

Result<inspect::Snapshot> stacks_from_port(const TargetWish& target);

}  // namespace clrscope::ops
