// Removes several listeners from a hub side by side: a sink whose peer does not answer takes
// seconds to close, and several such sinks take no longer than one.
#pragma once

#include <span>
#include <vector>

#include "hub/hub.h"

namespace clrscope::hub {

// Their summaries, in the same order; all sinks are closed when this returns.
std::vector<SessionSummary> remove_all(Hub& hub, std::span<const ListenerId> listeners);

}  // namespace clrscope::hub
