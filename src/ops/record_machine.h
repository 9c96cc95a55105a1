// A recording that takes CPU samples and waits from the kernel beside the runtimes' events. Inside
// ops only: see record.h.
#pragma once

#include "ops/record.h"

namespace clrscope::ops {

Result<RecordSummary> record_with_kernel(const RecordWish& wish, const Wish& providers,
                                         const RecordWatcher& watcher);

}  // namespace clrscope::ops
