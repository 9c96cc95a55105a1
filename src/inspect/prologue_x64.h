// How far rbp lies above rsp in the body of a function, told by how it begins.
//
// For a frame whose rbp nobody saved: a thread that waits in a system call shows rip and rsp only,
// and a wrapper such as read() leaves rbp as it was.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace clrscope::inspect {

// `code` begins with the function. Nothing when it does not set up rbp first of all.
std::optional<std::uint64_t> rbp_above_rsp(Bytes code);

}  // namespace clrscope::inspect
