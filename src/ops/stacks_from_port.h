// Stacks through the diagnostic port: a short session of the runtime's own sampler.
//
// For a process whose memory cannot be read. Managed frames only, no locks; the runtime pauses the
// process for each round of samples, and must be responsive.
#pragma once

#include "base/result.h"
#include "inspect/snapshot.h"
#include "ops/target.h"

namespace clrscope::ops {

Result<inspect::Snapshot> stacks_from_port(const TargetRequest& target);

}  // namespace clrscope::ops
