// A counter's value as one line of JSON, as `counters --json`, the NDJSON sink and REST have it.
//
//   {"time":"…","pid":4312,"provider":"System.Runtime","name":"dotnet.gc.collections",
//    "tags":{"gc.heap.generation":"gen0"},"value":3,"unit":"{collection}","kind":"rate",…}
#pragma once

#include <string>

#include "hub/counter.h"

namespace clrscope::hub {

// With its line end.
void append_json_line(std::string& out, const CounterValue& value);

}  // namespace clrscope::hub
