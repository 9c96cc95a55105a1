// Text in aligned columns for a terminal, and its colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clrscope {

enum class Tone { kPlain, kHarm, kWarning, kGood, kDim };

// Rows with aligned columns; a column is right-aligned when its title begins with '>'. The last one
// is not padded.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

// Columns that a terminal needs for UTF-8 text.
std::size_t display_width(std::string_view text);
// At most `width` columns of it; what is cut ends in "…".
std::string cut_to_width(std::string_view text, std::size_t width);
// Likewise, but the end stays: what tells one title from another often stands there.
std::string cut_middle(std::string_view text, std::size_t width);

}  // namespace clrscope
