#include "analyze/event_name.h"

#include <fmt/format.h>

#include "nettrace/payload.h"

namespace clrscope::analyze {

std::string event_name(const EventType& type) {
  auto name = nettrace::make_plan(type, 8).event_name();
  if (name.empty()) name = type.name;
  return name.empty() ? fmt::format("Event({})", type.id) : name;
}

}  // namespace clrscope::analyze
