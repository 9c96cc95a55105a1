// Waits until the agent has changed the code of methods.
#pragma once

#include "collect/agent/connection.h"

namespace clrscope::ops {

// Until the agent has done it; an error when the process ends first.
Result<> wait_for_probes(const collect::AgentProbes& probes,
                         const collect::AgentConnection& connection, wire::ProbeProgress wanted);

}  // namespace clrscope::ops
