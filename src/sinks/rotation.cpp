#include "sinks/rotation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace clrscope::sinks {

Result<> can_write(const std::string& path) {
  struct stat there {};
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  bool can = false;
  if (::stat(path.c_str(), &there) != 0)
    can = ::access(folder.c_str(), W_OK | X_OK) == 0;
  else if (S_ISDIR(there.st_mode))
    errno = EISDIR;
  else
    can = ::access(path.c_str(), W_OK) == 0;
  if (can) return {};
  return fail(errc_of(errno), "cannot write {}: {}", path, errno_text())
      .hint("use a file in an existing folder that you may write to");
}

std::string name_when_aside(std::string_view path) {
  const auto slash = path.rfind('/');
  const auto name = slash == std::string_view::npos ? 0 : slash + 1;
  // The dot that begins a hidden file's name begins no extension.
  auto dot = path.find('.', name + 1);
  for (const std::string_view end : {".nettrace.zst", ".nettrace", ".ndjson"})
    if (path.ends_with(end) && path.size() - end.size() > name) dot = path.size() - end.size();
  if (dot == std::string_view::npos || dot > path.size()) dot = path.size();
  return std::string{path.substr(0, dot)} + ".1" + std::string{path.substr(dot)};
}

Result<> put_aside(const std::string& path) {
  const auto aside = name_when_aside(path);
  if (std::rename(path.c_str(), aside.c_str()) != 0)
    return fail(Errc::kSystem, "cannot rename {} to {}: {}", path, aside, errno_text());
  return {};
}

}  // namespace clrscope::sinks
