// Where a verb's words go: data to stdout, talk to stderr, progress as one rewritten line on a
// terminal only.
//
// What could command a terminal is escaped here and only here (base/printable.h): names
// and answers of a target may be passed as they are. Of escape sequences only the colours of
// paint() are let through, and only where paint() makes them.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "answer/text.h"
#include "base/printable.h"
#include "base/table.h"

namespace clrscope::cli {

class Console {
 public:
  Console();

  void data(std::string_view text);  // stdout; JSON keeps its meaning
  void talk(std::string_view text);  // stderr, with a line end
  // Texts among `args` stay on one line.
  template <class... Args>
  void talk(fmt::format_string<Args...> format, Args&&... args) {
    const fmt::string_view checked = format;
    talk(std::string_view{fmt::format(fmt::runtime(checked), on_one_line(args)...)});
  }

  void clear_screen();
  // Draws over the last `lines` lines of the terminal.
  void redraw(std::size_t lines, std::string_view text);

  bool shows_progress() const { return err_is_terminal_; }
  void progress(std::string_view line);  // rewrites the last line of the terminal
  void end_progress();

  std::size_t width() const { return width_; }
  // `text` in colour where stdout is a terminal that wants it.
  std::string paint(Tone tone, std::string_view text) const;
  // For documents; lives as long as the console.
  answer::TextStyle text_style() const;

 private:
  template <class T>
  static decltype(auto) on_one_line(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
      return printable(value);
    else
      return (value);
  }
  std::string shown(std::string_view text) const;

  bool out_is_terminal_;
  bool err_is_terminal_;
  bool colour_;
  std::size_t width_;
  bool in_progress_ = false;
};

}  // namespace clrscope::cli
