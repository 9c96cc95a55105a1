#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "base/io.h"
#include "base/printable.h"

namespace clrscope {
namespace {

std::atomic<LogLevel> least_level{LogLevel::kInfo};

void write_line(const std::string& line) { (void)write_all(STDERR_FILENO, as_bytes(line)); }

}  // namespace

void set_log_level(LogLevel least) { least_level.store(least, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) { return level >= least_level.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view line) {
  const char* prefix = level == LogLevel::kWarning ? "clrscope: warning: "
                       : level == LogLevel::kInfo  ? ""
                                                   : "clrscope: ";
  write_line(fmt::format("{}{}\n", prefix, printable(line)));
}

void log_error(const Error& error) {
  auto text = fmt::format("clrscope: {}\n", printable(error.what));
  if (!error.hint.empty()) text += fmt::format("  hint: {}\n", printable(error.hint));
  write_line(text);
}

}  // namespace clrscope
