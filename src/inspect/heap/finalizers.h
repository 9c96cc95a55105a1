// The collector's queues of objects with finalizers. Internal to heap/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspect/gc_table.h"

namespace clrscope::inspect {

struct FinalizerQueue {
  std::uint64_t registered = 0;      // objects whose finalizer is not due
  std::vector<std::uint64_t> due{};  // objects that wait for their finalizer to run
};
Result<FinalizerQueue> read_finalizers(Target& target, const GcState& gc);

}  // namespace clrscope::inspect
