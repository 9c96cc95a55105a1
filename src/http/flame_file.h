// A flame graph as one HTML file with the viewer and its data inside: opens anywhere, asks nobody.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/flame.h"

namespace clrscope::http {

Result<std::string> flame_file(const ops::FlameRead& read);

}  // namespace clrscope::http
