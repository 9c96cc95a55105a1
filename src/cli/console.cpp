#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/io.h"

namespace clrscope::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

Console::Console()
    : out_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      err_is_terminal_(::isatty(STDERR_FILENO) == 1),
      colour_(out_is_terminal_ && !std::getenv("NO_COLOR")),
      width_(terminal_width()) {}

void Console::data(std::string_view text) {
  end_progress();
  (void)write_all(STDOUT_FILENO, as_bytes(text));
}

void Console::talk(std::string_view line) {
  end_progress();
  (void)write_all(STDERR_FILENO, as_bytes(fmt::format("{}\n", line)));
}

void Console::progress(std::string_view line) {
  if (!err_is_terminal_) return;
  in_progress_ = true;
  (void)write_all(STDERR_FILENO,
                  as_bytes(fmt::format("\r\x1b[K{}", cut_to_width(line, width_ - 1))));
}

void Console::end_progress() {
  if (!in_progress_) return;
  in_progress_ = false;
  (void)write_all(STDERR_FILENO, as_bytes("\r\x1b[K"));
}

std::string Console::paint(Tone tone, std::string_view text) const {
  if (!colour_ || tone == Tone::kPlain) return std::string{text};
  const int code = tone == Tone::kHarm      ? 31
                   : tone == Tone::kWarning ? 33
                   : tone == Tone::kGood    ? 32
                                            : 2;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Table::Table(std::vector<std::string> titles) {
  for (auto& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(right_.size());
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

}  // namespace clrscope::cli
