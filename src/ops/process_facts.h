// How and where a process runs: limits, environment, configuration. Inside ops only: see examine.h.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "doctor/evidence.h"

namespace clrscope::ops {

enum class FactSource {
  kProc,
  kProcAndFiles
};  // the files: how the application is configured and compiled

// What can be had of it; what cannot stays empty.
doctor::ProcessFacts process_facts(pid_t pid, FactSource source);

// Applies the runtime's settings from these variables.
void add_environment(doctor::ProcessFacts& facts, std::map<std::string, std::string> environment);

}  // namespace clrscope::ops
