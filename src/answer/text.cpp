#include "answer/text.h"

#include <algorithm>

#include "answer/blocks.h"
#include "base/printable.h"
#include "base/table.h"
#include "base/text.h"

namespace clrscope::answer {
namespace {

constexpr std::size_t kLeastColumn = 12;
constexpr std::size_t kLeastBeside =
    16;  // "libcoreclr.so" stays whole beside a column that keeps its width
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastPath = 6;

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

// "GET " of "GET /prices/{currency}"; empty: it is not a route.
std::string_view verb_of(std::string_view name) {
  const auto path = name.find(" /");
  const bool is_route =
      path != std::string_view::npos && path > 0 &&
      std::ranges::all_of(name.substr(0, path), [](char one) { return one >= 'A' && one <= 'Z'; });
  return is_route ? name.substr(0, path + 1) : std::string_view{};
}

// Whole segments from the end, as many as there is room for: "…/items/{id}".
std::string cut_path(std::string_view path, std::size_t width) {
  for (auto at = path.find('/', 1); at != std::string_view::npos; at = path.find('/', at + 1))
    if (display_width(path.substr(at)) + 1 <= width) return "…" + std::string{path.substr(at)};
  return cut_beginning(path, width);
}

struct Column {
  std::size_t width = 0;
  std::size_t least = kLeastColumn;  // not narrower than that
  bool may_shrink = false;
};

// Takes from the widest columns that may shrink until a row fits.
void narrow(std::vector<Column>& columns, std::size_t width) {
  const auto total = [&] {
    std::size_t sum = kGap * (columns.size() - 1);
    for (const auto& column : columns) sum += column.width;
    return sum;
  };
  while (total() > width) {
    Column* widest = nullptr;
    for (auto& column : columns)
      if (column.may_shrink && column.width > column.least &&
          (widest == nullptr || column.width > widest->width))
        widest = &column;
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string without_arguments(std::string_view name) {
  const auto open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(')')) return std::string{name};
  return std::string{name.substr(0, open)} + "(…)";
}

std::string table_text(const DocumentTable& page_table, std::size_t width) {
  const auto& titles = page_table.columns;
  std::vector<Column> columns;
  std::vector<bool> is_text;
  std::size_t kept = titles.size();
  std::size_t kept_name = kLeastColumn;  // its widest name, without arguments
  for (std::size_t i = 0; i < titles.size(); ++i) {
    is_text.push_back(!titles[i].starts_with('>'));
    columns.push_back({.width = display_width(titles[i]), .may_shrink = is_text[i]});
    if (titles[i] == page_table.keeps) kept = i;
  }
  auto rows = page_table.rows;
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      columns[i].width = std::max(columns[i].width, display_width(row[i]));
      if (i == kept) kept_name = std::max(kept_name, display_width(without_arguments(row[i])));
    }
  if (kept < columns.size()) {  // loses arguments first, then waits for the others
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].may_shrink = i == kept;
    columns[kept].least = kept_name;
    narrow(columns, width);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].may_shrink = is_text[i] && i != kept;
      columns[i].least = kLeastBeside;
    }
    narrow(columns, width);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].may_shrink = is_text[i];
      columns[i].least = kLeastColumn;
    }
  }
  narrow(columns, width);
  Table table{titles};
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (is_text[i]) row[i] = shorten_name(row[i], columns[i].width);
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
  if (const auto verb = verb_of(name); !verb.empty() && verb.size() + kLeastPath <= width)
    return std::string{verb} + cut_path(name.substr(verb.size()), width - verb.size());
  return cut_beginning(without_arguments(name), width);
}

std::string page_text(const Document& page, std::size_t width) {
  return page_text(page, TextStyle{.width = width});
}

std::string page_text(const Document& page, const TextStyle& style) {
  const auto width = line_width(style);
  std::string out;
  for (const auto& sentence : page.summary) out += wrapped(printable(sentence), width);
  for (const auto& table : page.tables) {
    out += '\n';
    if (!table.title.empty()) out += printable(table.title) + '\n';
    out += table_text(table, width);
    if (!table.note.empty()) out += table.note + '\n';
  }
  out += blocks_text(page.blocks, style);
  if (!page.next.empty()) out += '\n' + page.next + '\n';
  return out;
}

}  // namespace clrscope::answer
