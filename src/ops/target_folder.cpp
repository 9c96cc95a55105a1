#include "ops/target_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/io.h"
#include "base/proc.h"
#include "base/target_root.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kLongestFolder = 100;  // a socket below it: 107 bytes

std::string temporary_folder_of(pid_t pid) {
  std::string folder = "/tmp";
  if (const auto environment = proc_environment(pid))
    if (const auto told = environment->find("TMPDIR");
        told != environment->end() && told->second.starts_with('/'))
      folder = told->second;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

std::string random_name() {
  std::uint64_t number = 0;
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return fmt::format("clrscope-{:016x}", number);
}

}  // namespace

Result<TargetFolder> TargetFolder::open(pid_t pid, const std::string& name, bool make) {
  const auto parent = temporary_folder_of(pid);
  const bool fits = parent.size() + 1 + name.size() <= kLongestFolder;
  return open_in(pid, fits ? parent : "/tmp", name, make);
}

Result<TargetFolder> TargetFolder::make_new(pid_t pid) {
  auto made = TRY(open_in(pid, temporary_folder_of(pid), random_name(), true));
  if (!made.made()) return fail(Errc::kDenied, "{} already exists", made.path());
  return made;
}

Result<TargetFolder> TargetFolder::open_in(pid_t pid, const std::string& parent,
                                           const std::string& name, bool make) {
  const auto root = TRY(TargetRoot::open(pid));
  TargetFolder out;
  out.name_ = name;
  out.path_ = parent + "/" + name;
  out.rights_ = root.rights();
  out.same_user_ = out.rights_.uid == ::geteuid();
  out.same_files_ = !in_other_namespace(pid, "mnt");
  out.parent_ = TRY(root.open_folder(parent));
  const WithTargetRights scope{out.rights_};
  if (!scope.is_target())
    return fail(Errc::kDenied, "cannot write files as user {}, who owns process {}",
                user_name(out.rights_.uid), pid)
        .hint("run as that user, or as root with CAP_SETUID and CAP_SETGID");
  if (make) {
    out.made_ = ::mkdirat(out.parent_.get(), name.c_str(), 0700) == 0;
    if (!out.made_ && errno != EEXIST)
      return fail(errc_of(errno), "cannot create {} in the file system of process {}: {}",
                  out.path_, pid, errno_text())
          .hint("give the process a writable temporary folder: /tmp, or TMPDIR");
  }
  out.folder_ = UniqueFd{
      ::openat(out.parent_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!out.folder_)
    return fail(errno == ENOENT ? Errc::kNotFound : errc_of(errno), "{}: {}", out.path_,
                errno_text());
  struct stat folder {};
  if (::fstat(out.folder_.get(), &folder) != 0 || folder.st_uid != out.rights_.uid ||
      (folder.st_mode & 0077) != 0)
    return fail(Errc::kDenied, "{} is not a private folder of user {}", out.path_, out.rights_.uid)
        .hint("remove it; another user created it");
  return out;
}

bool TargetFolder::may_execute() const {
  struct statvfs disk {};
  return ::fstatvfs(folder_.get(), &disk) != 0 || (disk.f_flag & ST_NOEXEC) == 0;
}

Result<> TargetFolder::write(const std::string& name, Bytes bytes, mode_t mode) const {
  remove(name);
  const auto create = [&] {
    const WithTargetRights scope{rights_};
    return UniqueFd{::openat(folder_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  };
  const auto file = create();
  if (!file) return fail(errc_of(errno), "cannot write {}/{}: {}", path_, name, errno_text());
  return write_all(file.get(), bytes);
}

Result<> TargetFolder::rename(const std::string& from, const std::string& to) const {
  const WithTargetRights scope{rights_};
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0)
    return fail(errc_of(errno), "cannot rename {}/{} to {}: {}", path_, from, to, errno_text());
  return {};
}

Result<UniqueFd> TargetFolder::find(const std::string& name, mode_t type) const {
  UniqueFd found{::openat(folder_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat status {};
  if (!found || ::fstat(found.get(), &status) != 0)
    return fail(errno == ENOENT ? Errc::kNotFound : errc_of(errno), "{}/{}: {}", path_, name,
                errno_text());
  if ((status.st_mode & S_IFMT) != type)
    return fail(Errc::kDenied, "{}/{} is not a {}", path_, name,
                type == S_IFSOCK ? "socket" : "regular file");
  if (status.st_uid != rights_.uid)
    return fail(Errc::kDenied, "{}/{} does not belong to user {}", path_, name, rights_.uid);
  return found;
}

Result<UniqueFd> TargetFolder::open_file(const std::string& name) const {
  const WithTargetRights scope{rights_};
  return open_found_file(TRY(find(name, S_IFREG)), path_ + "/" + name);
}

Result<std::string> TargetFolder::read(const std::string& name, std::size_t limit) const {
  const auto file = TRY(open_file(name));
  std::string text(limit, '\0');
  const auto size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return fail(errc_of(errno), "{}/{}: {}", path_, name, errno_text());
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::uint64_t TargetFolder::size_of(const std::string& name) const {
  const WithTargetRights scope{rights_};
  struct stat status {};
  const int found = ::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  return found == 0 && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

Result<std::vector<std::string>> TargetFolder::list() const {
  const WithTargetRights scope{rights_};
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries{copy < 0 ? nullptr : ::fdopendir(copy),
                                                    &::closedir};
  if (!entries) return fail(errc_of(errno), "{}: {}", path_, errno_text());
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
  return names;
}

void TargetFolder::remove(const std::string& name) const {
  const WithTargetRights scope{rights_};
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno == EISDIR)
    ::unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR);
}

void TargetFolder::remove_folder() const {
  const WithTargetRights scope{rights_};
  ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

Result<UniqueFd> TargetFolder::find_socket(const std::string& name) const {
  const WithTargetRights scope{rights_};
  return find(name, S_IFSOCK);
}

}  // namespace clrscope::ops
