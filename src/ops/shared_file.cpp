#include "ops/shared_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/io.h"

namespace clrscope::ops {

Result<SharedFile> SharedFile::beside(const std::string& socket, const std::string& folder) {
  std::uint64_t number = 0;
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  const auto ours = std::filesystem::absolute(socket).parent_path().string();
  SharedFile made;
  made.folder_ = UniqueFd{::open(ours.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!made.folder_) return fail(errc_of(errno), "cannot open {}: {}", ours, errno_text());
  made.name_ = fmt::format("clrscope-{:016x}.dmp", number);
  made.path_ = fmt::format("{}/{}", folder, made.name_);
  return made;
}

Result<UniqueFd> SharedFile::open() const {
  UniqueFd file{::openat(folder_.get(), name_.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!file)
    return fail(errc_of(errno), "cannot read {} from here: {}", path_, errno_text())
        .hint("share the folder of the socket with the application, as for its diagnostic port");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Errc::kDenied, "{} is not a regular file", path_);
  return file;
}

std::uint64_t SharedFile::size() const {
  struct stat status {};
  if (::fstatat(folder_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void SharedFile::remove() const { (void)::unlinkat(folder_.get(), name_.c_str(), 0); }

}  // namespace clrscope::ops
