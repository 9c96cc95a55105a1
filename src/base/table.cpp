#include "base/table.h"

#include <algorithm>

#include "base/printable.h"

namespace clrscope {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

Table::Table(std::vector<std::string> titles) {
  for (auto& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(right_.size());
  for (auto& cell : cells) cell = printable(cell);  // a name with a line end must not add a row
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += right_[i] ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b')
      i = std::min(text.find('m', i), text.size());  // a colour takes no room
    else if (begins_character(text[i]))
      ++columns;
  }
  return columns;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string{text};
  std::size_t columns = 0, end = 0;
  for (; end < text.size(); ++end)
    if (begins_character(text[end]) && ++columns == width) break;
  return std::string{text.substr(0, end)} + "…";
}

std::string cut_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string{text};
  const auto last = width / 4;
  std::size_t columns = 0, begin = text.size();
  while (columns < last && begin > 0)
    if (begins_character(text[--begin])) ++columns;
  return cut_to_width(text, width - last) + std::string{text.substr(begin)};
}

}  // namespace clrscope
