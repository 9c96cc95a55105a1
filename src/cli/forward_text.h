// The text of `forward --status`, made from the JSON that a running forward publishes.
#pragma once

#include <string>

#include "base/json_reader.h"

namespace clrscope::cli {

std::string forward_text(const JsonValue& status);

// "graphite:HOST:PORT, ndjson:PATH": every kind there is, as it is written.
std::string sink_examples();

}  // namespace clrscope::cli
