// Converts a discovered process to the one that is listed. Inside ops only.
#pragma once

#include "ipc/discover.h"
#include "model/process.h"

namespace clrscope::ops {

Process process_from(const ipc::DotnetProcess& found);

}  // namespace clrscope::ops
