// Files without a name: gone with their last descriptor, whatever becomes of us.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope {

// For reading and writing, on the disk of `folder`.
Result<UniqueFd> open_temp_file(const std::string& folder);

}  // namespace clrscope
