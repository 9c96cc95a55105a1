// Processes that this program starts from its own executable: checked first in main().
#pragma once

#include <optional>

namespace clrscope::ops {

// The exit code of a worker when this process was started as one; nothing otherwise.
std::optional<int> worker_main(int argc, char** argv);

}  // namespace clrscope::ops
