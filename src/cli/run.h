// Runs the command line: finds the verb, parses its words, runs it, turns an error into text and an
// exit code.
#pragma once

#include <span>
#include <string_view>

namespace clrscope::cli {

int run(std::span<const std::string_view> words);

}  // namespace clrscope::cli
