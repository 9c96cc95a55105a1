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

}  // namespace clrscope::cli
