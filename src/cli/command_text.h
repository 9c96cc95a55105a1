// A remedy as a command line.
#pragma once

#include <string>

#include "base/remedy.h"

namespace clrscope::cli {

// "clrscope collect -p 4312 --profile gc-verbose"; what the reader has to fill in is in capitals.
std::string command_text(const Remedy& remedy);

}  // namespace clrscope::cli
