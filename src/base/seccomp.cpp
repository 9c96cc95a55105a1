#include "base/seccomp.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/io.h"
#include "base/text.h"

namespace clrscope {

bool under_seccomp() {
  const auto status = read_file("/proc/self/status");
  if (!status) return false;
  for (const auto line : split(*status, '\n'))
    if (line.starts_with("Seccomp:")) return trim(line.substr(8)) != "0";
  return false;
}

int errno_in_child(int (*call)()) {
  const auto child = ::fork();
  if (child == 0) ::_exit(call());  // an errno fits into an exit code
  if (child < 0) return errno;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace clrscope
