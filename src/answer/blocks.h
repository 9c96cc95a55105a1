// The blocks of a document as text. Used by page_text() alone.
#pragma once

#include <string>
#include <vector>

#include "answer/text.h"

namespace clrscope::answer {

std::string blocks_text(const std::vector<Block>& blocks, const TextStyle& style);

// Columns of a line; nearly endless for kWholeLines.
std::size_t line_width(const TextStyle& style);

}  // namespace clrscope::answer
