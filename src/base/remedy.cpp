#include "base/remedy.h"

namespace clrscope {

const Shape& shape_of(const Remedy*) {
  static const auto shape = describe<Remedy>(
      "Remedy", "a command to run next",
      {member<&Remedy::verb>("verb", "verb of the command line"),
       member<&Remedy::options>("options", "options by name; a switch has an empty value")});
  return shape;
}

std::string plain_words(const Remedy& remedy) {
  auto out = remedy.verb;
  for (const auto& [name, value] : remedy.options) {
    out += ' ' + name;
    if (!value.empty()) out += '=' + value;
  }
  return out;
}

}  // namespace clrscope
