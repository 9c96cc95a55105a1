#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/io.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/command_text.h"

namespace clrscope::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

constexpr Tone kTones[] = {Tone::kHarm, Tone::kWarning, Tone::kGood, Tone::kDim};
constexpr std::string_view kColourEnd = "\x1b[0m";

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::kHarm:
      return "\x1b[31m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kGood:
      return "\x1b[32m";
    default:
      return "\x1b[2m";
  }
}

// The colour that the text begins with, if it is one of ours.
std::string_view leading_colour(std::string_view text) {
  for (const auto tone : kTones)
    if (text.starts_with(colour_of(tone))) return colour_of(tone);
  return text.starts_with(kColourEnd) ? kColourEnd : std::string_view{};
}

}  // namespace

Console::Console()
    : out_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      err_is_terminal_(::isatty(STDERR_FILENO) == 1),
      colour_(out_is_terminal_ && !std::getenv("NO_COLOR")),
      width_(terminal_width()) {}

answer::TextStyle Console::text_style() const {
  return {.width = width_,
          .paint = [this](Tone tone, std::string_view text) { return paint(tone, text); },
          .spell = command_text};
}

void Console::data(std::string_view text) {
  end_progress();
  (void)write_all(STDOUT_FILENO, as_bytes(shown(text)));
}

void Console::talk(std::string_view text) {
  end_progress();
  (void)write_all(STDERR_FILENO, as_bytes(printable_lines(text) + "\n"));
}

void Console::clear_screen() {
  end_progress();
  (void)write_all(STDOUT_FILENO, as_bytes("\x1b[H\x1b[2J"));
}

void Console::redraw(std::size_t lines, std::string_view text) {
  end_progress();
  std::string out = lines > 0 ? fmt::format("\x1b[{}A", lines) : "";
  for (const auto line : split(text.substr(0, text.find_last_not_of('\n') + 1), '\n'))
    out += shown(line) + "\x1b[K\n";
  (void)write_all(STDOUT_FILENO, as_bytes(out + "\x1b[J"));
}

std::string Console::shown(std::string_view text) const {
  if (!colour_) return printable_lines(text);
  std::string out;
  while (!text.empty()) {
    const auto escape = std::min(text.find('\x1b'), text.size());
    out += printable_lines(text.substr(0, escape));
    text.remove_prefix(escape);
    const auto colour = leading_colour(text);
    const auto taken = text.substr(0, std::max<std::size_t>(colour.size(), 1));
    out += colour.empty() ? printable_lines(taken) : std::string{taken};
    text.remove_prefix(taken.size());
  }
  return out;
}

void Console::progress(std::string_view line) {
  if (!err_is_terminal_) return;
  in_progress_ = true;
  (void)write_all(STDERR_FILENO,
                  as_bytes(fmt::format("\r\x1b[K{}", cut_to_width(printable(line), width_ - 1))));
}

void Console::end_progress() {
  if (!in_progress_) return;
  in_progress_ = false;
  (void)write_all(STDERR_FILENO, as_bytes("\r\x1b[K"));
}

std::string Console::paint(Tone tone, std::string_view text) const {
  if (!colour_ || tone == Tone::kPlain) return std::string{text};
  return fmt::format("{}{}{}", colour_of(tone), printable_lines(text), kColourEnd);
}

}  // namespace clrscope::cli
