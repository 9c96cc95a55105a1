// A file that has become too long is put aside: app.ndjson becomes app.1.ndjson, and the one that
// had that name before is gone. So a sink with max-size never takes more than twice that.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::sinks {

// "a/app.nettrace.zst" → "a/app.1.nettrace.zst"
std::string name_when_aside(std::string_view path);
Result<> put_aside(const std::string& path);

}  // namespace clrscope::sinks
