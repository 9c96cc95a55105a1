// The RuntimeReader over the runtime's own data access library, with a patience of one's own.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect::dac {

// How long one question may take: a library that hangs is ended then.
inline constexpr std::chrono::seconds kPatience{20};

// The target outlives the reader. Threads() begins a new look: what was read before is forgotten.
Result<std::unique_ptr<RuntimeReader>> open_reader(Target& target,
                                                   std::chrono::nanoseconds patience);

}  // namespace clrscope::inspect::dac
