// Processes that this program starts of itself: the first thing that main() asks.
#pragma once

#include <optional>

namespace clrscope::ops {

// The exit code of a worker when this process was started as one; nothing otherwise.
std::optional<int> worker_main(int argc, char** argv);

}  // namespace clrscope::ops
