// The .NET processes of this machine, with what each runtime says of itself.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/process.h"

namespace clrscope::ops {

// Sorted by pid. A runtime that does not answer within a moment is listed all the same, with the
// reason.
Result<std::vector<Process>> list_processes();

// The application that runs as this process; asks it nothing.
Result<std::string> application_of(pid_t pid);

}  // namespace clrscope::ops
