// Asks for the source line of one address of code; nothing where it is unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "symbols/portable_pdb.h"

namespace clrscope {

using LineAt = std::function<std::optional<SourceLine>(std::uint64_t address)>;

}  // namespace clrscope
