#include "analyze/event_name.h"

#include <fmt/format.h>

namespace clrscope::analyze {

std::string event_name(const EventType& type) {
  return type.name.empty() ? fmt::format("Event({})", type.id) : type.name;
}

}  // namespace clrscope::analyze
