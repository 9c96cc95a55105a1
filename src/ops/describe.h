// From what discovery found to what people are shown. Inside ops only.
#pragma once

#include "ipc/discover.h"
#include "model/process.h"

namespace clrscope::ops {

Process describe(const ipc::DotnetProcess& found);

}  // namespace clrscope::ops
