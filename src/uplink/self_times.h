// How long each span of a request was the innermost one that ran on its thread. Their sum is the
// time in which threads worked for spans, counted once per thread.
#pragma once

#include <chrono>
#include <vector>

#include "model/request.h"

namespace clrscope::uplink {

std::vector<std::chrono::nanoseconds> self_times(const RequestTrace& request);

}  // namespace clrscope::uplink
