// Waits until the agent has changed the code of methods, and says why it has not.
#pragma once

#include "analyze/unmeasured_method.h"
#include "collect/agent/connection.h"
#include "ops/stop_condition.h"

namespace clrscope::ops {

// How long changing methods, or taking changes back, may take unless somebody says otherwise.
constexpr std::chrono::minutes kChangeMethods{2};
// How long a command that is to end waits for changes to be taken back. The agent goes on by
// itself.
constexpr std::chrono::seconds kLeaveMethods{10};

// Has the methods changed that the order names. Whatever the outcome, take_back() has to follow.
Result<WaitEnd> change_methods(const collect::AgentProbes& probes,
                               collect::AgentConnection& connection,
                               std::chrono::nanoseconds patience, const StopCondition& stop);

// Until all methods have their own code again and the agent has nothing to do: it takes no other
// order before. A stop leaves it kLeaveMethods.
Result<> take_back_methods(const collect::AgentProbes& probes, collect::AgentConnection& connection,
                           const StopCondition& stop,
                           std::chrono::nanoseconds after_stop = kLeaveMethods);

// Of a method that was refused.
analyze::UnmeasuredMethod unmeasured(const collect::ProbedMethod& method);

}  // namespace clrscope::ops
