// clrscope-fleet replay: sends recorded batches as if they came from many hosts, to see what a
// server and its store can take.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace clrscope::fleet {

// Exit code: 0, or 2 if something was not delivered.
Result<int> replay_command(std::span<const std::string_view> words);

}  // namespace clrscope::fleet
