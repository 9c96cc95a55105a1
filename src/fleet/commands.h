// The commands of clrscope-fleet: serve, relay, token, version.
#pragma once

#include <span>
#include <string_view>

namespace clrscope::fleet {

// Its exit code, as those of clrscope: 0 done, 1 could not start, 2 failed while running, 3 wrong
// arguments.
int run(std::span<const std::string_view> words);

}  // namespace clrscope::fleet
