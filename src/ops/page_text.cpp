#include "ops/page_text.h"

#include <algorithm>

#include "base/printable.h"
#include "base/table.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kLeastColumn = 12;
constexpr std::size_t kGap = 2;

// The last `width` columns, "…" first.
std::string cut_beginning(std::string_view text, std::size_t width) {
  const auto has = display_width(text);
  if (has <= width) return std::string{text};
  std::size_t skip = has - width + 1;
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && skip-- == 0) break;
  return "…" + std::string{text.substr(at)};
}

// Takes from the widest text columns until a row fits.
void narrow(std::vector<std::size_t>& widths, const std::vector<bool>& may, std::size_t width) {
  const auto total = [&] {
    std::size_t sum = kGap * (widths.size() - 1);
    for (const auto w : widths) sum += w;
    return sum;
  };
  while (total() > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (may[i] && widths[i] > kLeastColumn &&
          (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

std::string table_text(const analyze::PageTable& page_table, std::size_t width) {
  const auto& titles = page_table.columns;
  std::vector<std::size_t> widths;
  std::vector<bool> is_text;
  for (const auto& title : titles) {
    is_text.push_back(!title.starts_with('>'));
    widths.push_back(display_width(title));
  }
  auto rows = page_table.rows;
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  narrow(widths, is_text, width);
  Table table{titles};
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (is_text[i]) row[i] = shorten_name(row[i], widths[i]);
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out = margin;
  std::size_t column = 0;
  for (const auto word : split(text, ' ')) {
    const auto wide = display_width(word);
    if (column > 0 && column + 1 + wide + indent > width) {
      out += '\n' + margin;
      column = 0;
    }
    if (column > 0) out += ' ', ++column;
    out += word;
    column += wide;
  }
  return out + '\n';
}

std::string shorten_name(std::string_view name, std::size_t width) {
  if (display_width(name) <= width) return std::string{name};
  std::string shorter{name};
  if (const auto open = name.find('('); open != std::string_view::npos && name.ends_with(')'))
    shorter = std::string{name.substr(0, open)} + "(…)";
  return cut_beginning(shorter, width);
}

std::string page_text(const analyze::Page& page, std::size_t width) {
  std::string out;
  for (const auto& sentence : page.summary) out += wrapped(printable(sentence), width);
  for (const auto& table : page.tables) {
    out += '\n';
    if (!table.title.empty()) out += printable(table.title) + '\n';
    out += table_text(table, width);
    if (!table.note.empty()) out += table.note + '\n';
  }
  if (!page.next.empty()) out += '\n' + page.next + '\n';
  return out;
}

}  // namespace clrscope::ops
