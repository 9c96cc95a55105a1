#include "ops/target_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "base/io.h"
#include "base/proc.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kLongestFolder = 100;  // a socket below it: 107 bytes

std::string temporary_folder_of(pid_t pid, std::size_t name_size) {
  std::string folder = "/tmp";
  if (const auto environment = proc_environment(pid))
    if (const auto told = environment->find("TMPDIR");
        told != environment->end() && told->second.starts_with('/'))
      folder = told->second;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder.size() + 1 + name_size <= kLongestFolder ? folder : "/tmp";
}

// Links in `path` stay below `root`. A kernel before 5.6 does not know that: plain then.
Result<UniqueFd> open_below(const std::string& root, const std::string& path) {
  const UniqueFd top{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!top) return fail(errc_of(errno), "cannot open {}: {}", root, errno_text());
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  UniqueFd opened{
      static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof how))};
  if (!opened && errno == ENOSYS)
    opened = UniqueFd{::open((root + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened)
    return fail(errc_of(errno), "the target's temporary folder {}: {}", path, errno_text());
  return opened;
}

}  // namespace

Result<TargetFolder> TargetFolder::open(pid_t pid, const std::string& name, bool make) {
  TargetFolder out;
  struct stat process {};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &process) != 0)
    return fail(Errc::kGone, "process {} is gone", pid);
  const auto parent = temporary_folder_of(pid, name.size());
  out.name_ = name;
  out.path_ = parent + "/" + name;
  out.uid_ = process.st_uid;
  out.gid_ = process.st_gid;
  out.same_user_ = out.uid_ == ::geteuid();
  out.same_files_ = !in_other_namespace(pid, "mnt");
  out.parent_ = TRY(open_below(proc_root(pid), parent));
  if (make) {
    out.made_ = ::mkdirat(out.parent_.get(), name.c_str(), 0700) == 0;
    if (!out.made_ && errno != EEXIST)
      return fail(errc_of(errno), "cannot make {} in the file system of process {}: {}", out.path_,
                  pid, errno_text())
          .hint("the process needs a temporary folder that can be written: /tmp, or TMPDIR");
  }
  out.folder_ = UniqueFd{
      ::openat(out.parent_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!out.folder_)
    return fail(errno == ENOENT ? Errc::kNotFound : errc_of(errno), "{}: {}", out.path_,
                errno_text());
  if (out.made_ && !out.same_user_ && ::fchown(out.folder_.get(), out.uid_, out.gid_) != 0)
    return fail(errc_of(errno), "cannot give {} to user {}: {}", out.path_, out.uid_, errno_text());
  struct stat folder {};
  if (::fstat(out.folder_.get(), &folder) != 0 || folder.st_uid != out.uid_ ||
      (folder.st_mode & 0077) != 0)
    return fail(Errc::kDenied, "{} is not a private folder of user {}", out.path_, out.uid_)
        .hint("somebody else made it: remove it");
  return out;
}

bool TargetFolder::may_execute() const {
  struct statvfs disk {};
  return ::fstatvfs(folder_.get(), &disk) != 0 || (disk.f_flag & ST_NOEXEC) == 0;
}

Result<> TargetFolder::write(const std::string& name, Bytes bytes, mode_t mode) const {
  remove(name);
  const UniqueFd file{::openat(folder_.get(), name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  if (!file) return fail(errc_of(errno), "cannot write {}/{}: {}", path_, name, errno_text());
  if (!same_user_ && ::fchown(file.get(), uid_, gid_) != 0)
    return fail(errc_of(errno), "cannot give {}/{} to user {}: {}", path_, name, uid_,
                errno_text());
  return write_all(file.get(), bytes);
}

Result<std::string> TargetFolder::read(const std::string& name, std::size_t limit) const {
  const UniqueFd file{
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file)
    return fail(errno == ENOENT ? Errc::kNotFound : errc_of(errno), "{}/{}: {}", path_, name,
                errno_text());
  std::string text(limit, '\0');
  const auto size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return fail(errc_of(errno), "{}/{}: {}", path_, name, errno_text());
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::vector<std::string>> TargetFolder::list() const {
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries{copy < 0 ? nullptr : ::fdopendir(copy),
                                                    &::closedir};
  if (!entries) return fail(errc_of(errno), "{}: {}", path_, errno_text());
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
  return names;
}

void TargetFolder::remove(const std::string& name) const {
  ::unlinkat(folder_.get(), name.c_str(), 0);
}

void TargetFolder::remove_folder() const { ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR); }

std::string TargetFolder::reach(const std::string& name) const {
  return "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + name;
}

}  // namespace clrscope::ops
