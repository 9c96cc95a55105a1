#include "ops/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/private_folder.h"
#include "ops/output.h"

namespace clrscope::ops {
namespace {

Failure cannot_write(const std::string& path) {
  return fail(errc_of(errno), "cannot write {}: {}", path, errno_text())
      .hint("choose another place with -o");
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path == "-") return OutputFile{path, "", UniqueFd{::dup(STDOUT_FILENO)}, Kind::kDirect};
  struct ::stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return fail(Errc::kUsage, "{} is a directory", path).hint("name a file in it");
  if (exists && !S_ISREG(info.st_mode)) {
    UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (!fd) return cannot_write(path);
    return OutputFile{path, "", std::move(fd), Kind::kDirect};
  }
  const auto part = fmt::format("{}.{:06x}.part", path, static_cast<unsigned>(::getpid()));
  if (UniqueFd fd{::open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kFileMode)})
    return OutputFile{path, part, std::move(fd), Kind::kNameless};
  ::unlink(part.c_str());
  UniqueFd fd{::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode)};
  if (!fd) return cannot_write(path);
  return OutputFile{path, part, std::move(fd), Kind::kBeside};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      fd_(std::move(other.fd_)),
      kind_(std::exchange(other.kind_, Kind::kDirect)) {}

OutputFile::~OutputFile() {
  if (kind_ == Kind::kBeside) ::unlink(part_.c_str());
}

Result<> OutputFile::commit() {
  if (kind_ == Kind::kDirect) return {};
  if (kind_ == Kind::kNameless) {
    const auto here = fmt::format("/proc/self/fd/{}", fd_.get());
    ::unlink(part_.c_str());
    if (::linkat(AT_FDCWD, here.c_str(), AT_FDCWD, part_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return cannot_write(path_);
    kind_ = Kind::kBeside;
  }
  if (::rename(part_.c_str(), path_.c_str()) != 0) return cannot_write(path_);
  kind_ = Kind::kDirect;
  return {};
}

}  // namespace clrscope::ops
