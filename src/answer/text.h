// A document as text: sentences, aligned tables, blocks; at most 100 columns wide.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/document.h"

namespace clrscope::answer {

constexpr std::size_t kPageWidth = 100;

std::string page_text(const Document& page, std::size_t width = kPageWidth);

struct TextStyle {
  std::size_t width = kPageWidth;  // of the terminal; kWholeLines: nothing is wrapped or cut
  std::function<std::string(Tone, std::string_view)> paint{};  // empty: no colours
  Spelling spell{};                                            // empty: plain_words()
};
constexpr std::size_t kWholeLines = 0;
std::string page_text(const Document& page, const TextStyle& style);

// At most `width` columns of a name. Of "Shop.Cart.Add(int, string)" the arguments go first, then
// the beginning, since a name says most at its end. Of a route, "GET /shops/{shop}/items/{id}",
// the verb and the last segments stay: "GET …/items/{id}".
std::string shorten_name(std::string_view name, std::size_t width);

// Lines of at most `width` columns, broken between words, each after `indent` blanks.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace clrscope::answer
