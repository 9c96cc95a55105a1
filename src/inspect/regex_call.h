// The regular expression that a thread is matching: told by the framework's runner object on its
// stack.
#pragma once

#include <optional>

#include "inspect/objects.h"
#include "inspect/snapshot.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

// Nothing when it is in no match, or the match is not of a string.
std::optional<RegexCall> find_regex_call(const ThreadView& thread, const StackImage& stack,
                                         Objects& objects);

}  // namespace clrscope::inspect
