// How and where a process runs: limits, environment, configuration. Inside ops only: see examine.h.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "doctor/evidence.h"

namespace clrscope::ops {

enum class FactSource {
  kProc,
  kProcAndFiles
};  // the files: how the application is configured and compiled

// What can be had of it; what cannot stays empty.
doctor::ProcessFacts process_facts(pid_t pid, FactSource source);

// Whether it accepts connections from others: over TCP, or on a socket file other than that of its
// diagnostic port. Nothing: unknown.
std::optional<bool> has_listener(pid_t pid);

// Applies the runtime's settings from these variables.
void add_environment(doctor::ProcessFacts& facts, std::map<std::string, std::string> environment);

}  // namespace clrscope::ops
