// Processes whose diagnostic port is off: what needs no answer from the runtime still works.
#pragma once

#include <optional>

#include "ipc/discover.h"
#include "ops/target.h"

namespace clrscope::ops {

// Nothing unless -p names one; its `unreachable` says why the port is off.
std::optional<ipc::DotnetProcess> process_without_port(const TargetRequest& request);

}  // namespace clrscope::ops
