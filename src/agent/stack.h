// The managed stack of the thread that is in a callback.
#pragma once

#include "agent/recorder.h"

namespace clrscope::agent {

// Fills at most kMostFrames name slots, innermost first, and returns how many. None while the
// callbacks take too much time. What is missing is counted.
std::uint32_t take_stack(ComObject* runtime, Recorder& recorder,
                         std::uint32_t (&frames)[wire::kMostFrames]);

// The OS id of this thread; asked for once.
std::uint32_t this_thread();

}  // namespace clrscope::agent
