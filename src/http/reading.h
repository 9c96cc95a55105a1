// Reading a whole recording for a request: what it may cost, and how many may do so at a time.
#pragma once

#include "http/limits.h"
#include "http/route.h"
#include "ops/trace_bytes.h"

namespace clrscope::http {

// A place among those that read one (Load::kConversion); kBusy.
Result<Limits::Place> begin_reading(const Call& call);
// Also ends when the client has left, or the server ends. The call must live as long.
ops::TraceLimits reading_limits(const Call& call);

}  // namespace clrscope::http
