// A command to run next, as a value: the command line prints it as a command, a page as a link.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/shape.h"

namespace clrscope {

struct Remedy {
  std::string verb{};  // "collect"
  // By the long names of the command line's options: {"profile", "gc-verbose"}; a switch has no
  // value. `pid` is the process; an empty one is for the reader to fill in.
  std::map<std::string, std::string> options{};
};
const Shape& shape_of(const Remedy*);

using Spelling = std::function<std::string(const Remedy&)>;
// Neither a command nor a link: "collect pid=4312 profile=gc-verbose".
std::string plain_words(const Remedy& remedy);

}  // namespace clrscope
