// Where a recording can be looked at.
#pragma once

#include <string>

#include "http/markup.h"

namespace clrscope::http {

// Of a recording as /recordings tells it: the viewer, speedscope, every format.
std::string recording_links(const Call& call, const JsonValue& recording);
// The newest few as a list; empty when there is none or the caller may not see them.
std::string recent_recordings(Call& call, std::size_t most);

}  // namespace clrscope::http
