// The name of an event as tools print it: "GC/Start", or "Event(80)" when nobody named it.
#pragma once

#include <string>

#include "model/event.h"

namespace clrscope::analyze {

std::string event_name(const EventType& type);

}  // namespace clrscope::analyze
