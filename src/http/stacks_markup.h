// The text of `clrscope stacks` as HTML: threads and locks lead to where they are told of.
#pragma once

#include <string>
#include <string_view>

namespace clrscope::http {

// "Thread (0x…): 31 …" becomes the anchor t31, "holds 0x7f… (" the anchor l0x7f…; wherever else a
// thread or lock with an anchor is named stands a link to it. Nothing else is added or taken away.
std::string stacks_markup(std::string_view text);

}  // namespace clrscope::http
