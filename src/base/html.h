// Escapes text for HTML: it is displayed and never interpreted as markup.
#pragma once

#include <string>
#include <string_view>

namespace clrscope {

// Safe between tags and inside of a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace clrscope
