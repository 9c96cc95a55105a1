#include "base/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/io.h"

namespace clrscope {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersAny = S_IRWXG | S_IRWXO;

Result<> check_owner(const struct stat& there, std::string_view what) {
  if (there.st_uid != ::geteuid())
    return fail(Errc::kDenied, "{} belongs to user {}, not to user {}", what, there.st_uid,
                ::geteuid())
        .hint("run as user {}, or use a folder that belongs to user {}", there.st_uid, ::geteuid());
  if ((there.st_mode & kOthersWrite) != 0)
    return fail(Errc::kDenied, "{} can be written by other users", what)
        .hint("check what is in it, then chmod go-w");
  return {};
}

}  // namespace

Result<UniqueFd> open_private_folder(const std::string& path, Others others) {
  UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder && (errno == ELOOP || errno == ENOTDIR))
    return fail(Errc::kDenied, "{} is a symbolic link or not a folder", path);
  if (!folder) return fail(errc_of(errno), "cannot open the folder {}: {}", path, errno_text());
  struct stat there {};
  if (::fstat(folder.get(), &there) != 0)
    return fail(errc_of(errno), "cannot open the folder {}: {}", path, errno_text());
  TRY(check_owner(there, fmt::format("the folder {}", path)));
  if (others == Others::kNothing && (there.st_mode & kOthersAny) != 0 &&
      ::fchmod(folder.get(), kFolderMode) != 0)
    return fail(errc_of(errno), "cannot remove access for other users to the folder {}: {}", path,
                errno_text());
  return folder;
}

Result<UniqueFd> make_private_folder(const std::string& path, Others others) {
  std::error_code ignored;  // what is missing shows below
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), ignored);
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return fail(errc_of(errno), "cannot create the folder {}: {}", path, errno_text());
  return open_private_folder(path, others);
}

Result<std::string> read_private_file(int folder, const std::string& name, std::size_t limit) {
  const UniqueFd file{
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", name, errno_text());
  struct stat there {};
  if (::fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode))
    return fail(Errc::kDenied, "{} is not a regular file", name);
  TRY(check_owner(there, name));
  std::string text;
  char piece[16 << 10];
  while (true) {
    const auto got = ::read(file.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errc_of(errno), "cannot read {}: {}", name, errno_text());
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > limit) return fail(Errc::kCorrupt, "{} is larger than {} bytes", name, limit);
  }
}

Result<> replace_private_file(int folder, const std::string& name, std::string_view text) {
  std::uint64_t number = 0;
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  const auto fresh = fmt::format("{}.{:016x}", name, number);
  const UniqueFd file{::openat(folder, fresh.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode)};
  if (!file) return fail(errc_of(errno), "cannot write {}: {}", name, errno_text());
  const auto written = write_all(file.get(), as_bytes(text));
  if (!written || ::fsync(file.get()) != 0 ||
      ::renameat(folder, fresh.c_str(), folder, name.c_str()) != 0) {
    const auto why = written ? errno_text() : written.error().what;
    ::unlinkat(folder, fresh.c_str(), 0);
    return fail(Errc::kSystem, "cannot write {}: {}", name, why);
  }
  return {};
}

}  // namespace clrscope
