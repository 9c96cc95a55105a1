// A recording with the kernel's rings: of the whole machine, or of one process.
#pragma once

#include "ops/record.h"

namespace clrscope::ops {

// `target` without an endpoint is the whole machine. `summary` has its file and process already.
Result<RecordSummary> record_with_kernel(const RecordWish& wish, const Plan& plan, Target& target,
                                         RecordSummary summary, int output,
                                         const RecordWatcher& watcher);

}  // namespace clrscope::ops
