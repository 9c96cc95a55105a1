// Text inside of a page: whatever it says, it is shown and does nothing.
#pragma once

#include <string>
#include <string_view>

namespace clrscope {

// Safe between tags and inside of a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace clrscope
