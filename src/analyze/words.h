// Numbers as the reports print them.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace clrscope::analyze {

inline double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
// "12.3 %"
inline std::string percent_text(double value) { return fmt::format("{:.1f} %", value); }
inline std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return percent_text(percent(part, whole));
}
inline std::string count_text(std::uint64_t count) { return format_count(count); }

// "1 wait", "2,000 waits"
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

inline double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace clrscope::analyze
