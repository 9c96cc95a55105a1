// What the agent learns from /proc/self: its switch, and where its socket belongs.
#pragma once

#include <cstdint>

namespace clrscope::agent {

// CLRSCOPE_AGENT=0 in the environment the process was started with.
bool is_switched_off();

// wire::StartFeatures of CLRSCOPE_AGENT_START.
std::uint32_t start_features();

// TMPDIR/clrscope-agent-PID-STARTTIME/control, or in /tmp where that is too long. False: unknown.
bool default_socket(char (&path)[108]);

}  // namespace clrscope::agent
