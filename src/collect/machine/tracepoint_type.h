// A tracepoint as a kind of event in a trace: its fields with their types, and its raw bytes as the
// payload that those describe.
#pragma once

#include "base/bytes.h"
#include "collect/perf/tracepoint_format.h"
#include "model/event.h"
#include "model/provider_names.h"

namespace clrscope::collect {

// "sched:sched_switch" of kTracepointProvider. The common_* fields are left out: a trace says who
// and when anyway. Where the field `id` is a system call, its name is a field before the others.
EventType type_of_tracepoint(const perf::TracepointFormat& format);

// A field that the bytes are too short for is zero or empty.
void put_tracepoint(const perf::TracepointFormat& format, Bytes raw, ByteWriter& out);

}  // namespace clrscope::collect
