// The runtime's error codes: their names, what they mean and what to do.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ipc/frame.h"

namespace clrscope::ipc {

constexpr std::uint32_t kUnknownCommand = 0x80131385;

// "CORPROF_E_PROFILER_ALREADY_ACTIVE"; empty when the code is not one we know.
std::string_view name_of_code(std::uint32_t code);

// The Error for a command that the runtime `endpoint` has refused.
Error error_of(const Command& command, std::string_view endpoint, const Refusal& refusal);

}  // namespace clrscope::ipc
