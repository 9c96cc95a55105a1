// A recording as the answer of a request: written to the client while it is recorded.
//
// Ends with its time, when it is stopped (an operation), when the target goes or the client does.
// The trailers say why and what was lost. A client that leaves takes the recording with it.
#pragma once

#include "http/trace_request.h"

namespace clrscope::http {

// Answers the call, with the trace or with why there is none. Takes as long as it takes.
void stream_trace(Call call, const TraceRequest& request);

}  // namespace clrscope::http
