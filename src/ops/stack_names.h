// Adds method names to the stacks of events on their way to a sink of `forward`.
//
// Each process has two small sessions for it, with the methods that were loaded before and those
// that are loaded later (collect/eventpipe/early_names.h); only methods on stacks are passed on. A
// process in another pid namespace has addresses only.
#pragma once

#include <memory>

#include "base/result.h"
#include "sinks/sink_kind.h"

namespace clrscope::ops {

// The sink of this address. One that writes lines has the names in them: an event waits for those
// of methods that are new, 3 s at most. One that writes a trace has events that tell them.
Result<std::unique_ptr<hub::Sink>> make_sink_with_names(const sinks::SinkAddress& to,
                                                        sinks::SinkSetting setting);

}  // namespace clrscope::ops
