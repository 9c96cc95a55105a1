// HTTP requests in flight of a process or core: the use case and its text.
//
// Read from a frozen twin of the process, which pauses it for a few milliseconds, or from a core
// that has the heap, as async stacks are.
#pragma once

#include <string>

#include "inspect/async/requests_answer.h"
#include "ops/async_stacks.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using inspect::RequestsAnswer;

Result<inspect::RequestsSnapshot> take_requests(const AsyncRequest& request);

Document requests_document(const inspect::RequestsSnapshot& seen);
// Without colours, its lines as long as they are.
std::string requests_text(const inspect::RequestsSnapshot& seen);
std::string requests_json(const inspect::RequestsSnapshot& seen);

}  // namespace clrscope::ops
