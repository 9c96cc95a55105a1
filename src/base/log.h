// Messages for people, on stderr: "clrscope: …". Data never goes through here.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace clrscope {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void set_log_level(LogLevel least);  // call before threads start
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view line);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

// "clrscope: WHAT" and, when there is one, "  hint: HINT".
void log_error(const Error& error);

}  // namespace clrscope
