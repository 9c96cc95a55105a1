// Tells the one refusal of start_tracing() that passes by itself: the runtime has as many sessions
// as it can have.
#pragma once

#include "base/result.h"

namespace clrscope::ipc {

bool is_session_limit(const Error& error);

}  // namespace clrscope::ipc
