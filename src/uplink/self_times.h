// How long each span of a request was the innermost one that ran on its thread, and in which one a
// CPU sample lies. Their sum is the
// time in which threads worked for spans, counted once per thread.
#pragma once

#include <chrono>
#include <vector>

#include "model/request.h"

namespace clrscope::uplink {

std::vector<std::chrono::nanoseconds> self_times(const RequestTrace& request);

// For each CPU sample of a request: 1 + position of the innermost span that ran; 0: none.
std::vector<std::uint32_t> spans_of_samples(const RequestTrace& request);

}  // namespace clrscope::uplink
