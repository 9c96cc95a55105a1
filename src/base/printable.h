// Makes text from targets safe to print in a terminal or log.
//
// Control characters (C0, DEL, C1), marks that change the direction of text and bytes that are not
// UTF-8 become \u001b, which JSON reads back. The result passes through unchanged when escaped
// again. The console (cli/console.h), the log (base/log.h), tables and plain text over HTTP call
// it: their callers pass names and answers of a target unescaped.
#pragma once

#include <string>
#include <string_view>

namespace clrscope {

std::string printable(std::string_view text);        // one line
std::string printable_lines(std::string_view text);  // keeps line ends and tabs

// Whether `character`, one of UTF-8, is among those that are escaped.
bool commands_terminal(std::string_view character);

// Bytes of the UTF-8 character that `text` begins with; 0 when it is none.
std::size_t utf8_length(std::string_view text);

// At most `most` bytes of UTF-8, without half a character at the end.
std::string cut_utf8(const std::string& text, std::size_t most);

}  // namespace clrscope
