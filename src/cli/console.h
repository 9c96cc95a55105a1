// Where a verb's words go: data to stdout, talk to stderr, progress as one rewritten line on a
// terminal only.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/table.h"

namespace clrscope::cli {

class Console {
 public:
  Console();

  void data(std::string_view text);  // stdout, as it is
  void talk(std::string_view line);  // stderr, with a line end
  template <class... Args>
  void talk(fmt::format_string<Args...> format, Args&&... args) {
    talk(std::string_view{fmt::format(format, std::forward<Args>(args)...)});
  }

  bool shows_progress() const { return err_is_terminal_; }
  void progress(std::string_view line);  // rewrites the last line of the terminal
  void end_progress();

  std::size_t width() const { return width_; }
  // `text` in colour where stdout is a terminal that wants it.
  std::string paint(Tone tone, std::string_view text) const;

 private:
  bool out_is_terminal_;
  bool err_is_terminal_;
  bool colour_;
  std::size_t width_;
  bool in_progress_ = false;
};

}  // namespace clrscope::cli
