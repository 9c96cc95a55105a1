#include "ipc/target_socket.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/proc.h"
#include "base/target_root.h"

namespace clrscope::ipc {

Result<UniqueFd> open_target_folder(pid_t process, const std::string& folder) {
  if (const auto root = TargetRoot::open(process)) return root->open_folder(folder);
  if (const auto root = TargetRoot::open_ours(process)) return root->open_folder(folder);
  // Hidden (hidepid): its rights are unknown, so this folder only, which it did not name.
  constexpr const char* kShared = "/tmp";
  if (folder != kShared)
    return fail(Errc::kDenied, "process {} is not visible to this user", process);
  UniqueFd ours{::open(kShared, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!ours) return fail(errc_of(errno), "cannot open {}: {}", folder, errno_text());
  return ours;
}

Result<UniqueFd> open_socket_file(int folder, const std::string& name) {
  UniqueFd file{::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(errc_of(errno), "cannot open {}: {}", name, errno_text());
  if (!S_ISSOCK(status.st_mode)) return fail(Errc::kDenied, "{} is not a socket", name);
  return file;
}

Result<UniqueFd> open_target_socket(pid_t process, const std::string& path) {
  const auto root = proc_root(process);
  const auto inside = path.starts_with(root + "/") ? path.substr(root.size()) : path;
  const auto slash = inside.rfind('/');
  if (slash == std::string::npos)
    return fail(Errc::kUsage, "the socket path {} must be absolute", path);
  const auto folder = TRY(open_target_folder(process, slash == 0 ? "/" : inside.substr(0, slash)));
  return open_socket_file(folder.get(), inside.substr(slash + 1));
}

}  // namespace clrscope::ipc
