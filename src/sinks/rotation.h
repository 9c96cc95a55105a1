// A file that has become too long is put aside: app.ndjson becomes app.1.ndjson, and the one that
// had that name before is gone. So a sink with max-size never takes more than twice that.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::sinks {

// Whether a file can be made or written there: asked before anything is wanted of a process, so
// that a typing error ends what somebody began, and not what he finds a week later.
Result<> can_write(const std::string& path);

// "a/app.nettrace.zst" → "a/app.1.nettrace.zst"
std::string name_when_aside(std::string_view path);
Result<> put_aside(const std::string& path);

}  // namespace clrscope::sinks
