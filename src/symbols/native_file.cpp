#include "symbols/native_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace clrscope {
namespace {

constexpr std::size_t kLargestCopied = 32 << 20;

Result<> read_all(int fd, const std::string& path, std::vector<std::uint8_t>& out) {
  std::size_t have = 0;
  while (have < out.size()) {
    const auto got = ::pread(fd, out.data() + have, out.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
    if (got == 0) break;  // it became shorter meanwhile
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return {};
}

}  // namespace

Result<NativeFile> NativeFile::open(const std::string& path) { return open(path, Manner::kCopy); }

Result<NativeFile> NativeFile::open_few_pages(const std::string& path) {
  return open(path, Manner::kMap);
}

Result<NativeFile> NativeFile::open(const std::string& path, Manner small_ones) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
  if (!S_ISREG(status.st_mode)) return fail(Errc::kUnsupported, "{} is not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  NativeFile file;
  const bool trusted = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (size > kLargestCopied || (small_ones == Manner::kMap && trusted && size > 0)) {
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (start == MAP_FAILED) return fail(errc_of(errno), "cannot map {}: {}", path, errno_text());
    file.mapped_ = {static_cast<const std::uint8_t*>(start), size};
  } else {
    file.copy_.resize(size);
    TRY(read_all(fd.get(), path, file.copy_));
  }
  return file;
}

NativeFile::~NativeFile() {
  if (!mapped_.empty()) ::munmap(const_cast<std::uint8_t*>(mapped_.data()), mapped_.size());
}

}  // namespace clrscope
