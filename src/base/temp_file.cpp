#include "base/temp_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace clrscope {

Result<UniqueFd> open_temp_file(const std::string& folder) {
  UniqueFd fd{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (fd) return fd;
  std::string path = folder + "/.clrscope-XXXXXX";  // a file system without O_TMPFILE
  fd = UniqueFd{::mkostemp(path.data(), O_CLOEXEC)};
  if (!fd)
    return fail(errc_of(errno), "cannot create a temporary file in {}: {}", folder, errno_text());
  ::unlink(path.c_str());
  return fd;
}

}  // namespace clrscope
