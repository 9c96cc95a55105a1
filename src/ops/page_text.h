// A report's page as text: sentences, aligned tables, at most 100 columns wide.
#pragma once

#include <string>
#include <string_view>

#include "ops/report.h"

namespace clrscope::ops {

constexpr std::size_t kPageWidth = 100;

std::string page_text(const analyze::Page& page, std::size_t width = kPageWidth);

// At most `width` columns of a name. Of "Shop.Cart.Add(int, string)" the arguments go first, then
// the beginning, since a name says most at its end.
std::string shorten_name(std::string_view name, std::size_t width);

// Lines of at most `width` columns, broken between words, each after `indent` blanks.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace clrscope::ops
