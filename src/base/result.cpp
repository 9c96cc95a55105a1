#include "base/result.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace clrscope {

std::string errno_text() { return errno_text(errno); }

std::string errno_text(int number) {
  const char* text = strerrordesc_np(number);
  return text ? std::string{text} : fmt::format("error {}", number);
}

Errc errc_of(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
      return Errc::kDenied;
    case ENOENT:
    case ESRCH:
      return Errc::kNotFound;
    case ETIMEDOUT:
      return Errc::kTimeout;
    default:
      return Errc::kSystem;
  }
}

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "clrscope: internal error: %s:%d: %s does not hold\n", file, line,
               condition);
  std::abort();
}

}  // namespace clrscope
