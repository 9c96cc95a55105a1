// The EventSources of a process, by name, from the runtime's own list of them.
//
// Reads memory only: nothing is stopped. A collection may move what is read meanwhile, so it is
// read again where it makes no sense, and what stays unreadable is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

struct EventSources {
  std::vector<std::string> names{};  // sorted, each once
  std::uint64_t unread = 0;          // in the list, and not to be read
};

// kNotFound when the list is not there: a program that has EventSources switched off, or a runtime
// that keeps it elsewhere.
Result<EventSources> list_event_sources(Target& target, RuntimeReader& reader);

}  // namespace clrscope::inspect
