#include "archive/file_name.h"

#include <ctime>

namespace clrscope::archive {

std::string safe_file_name(std::string_view name) {
  std::string out;
  for (const auto c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '.' || c == '-' || c == '_';
    out += plain ? c : '_';
  }
  while (out.starts_with('.')) out.erase(0, 1);
  return out.empty() ? "recording" : out;
}

std::string dated_name(std::string_view what, std::string_view extension) {
  const auto now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &local);
  return std::string{what} + "_" + text + std::string{extension};
}

}  // namespace clrscope::archive
