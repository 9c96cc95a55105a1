#include "ipc/socket_address.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace clrscope::ipc {

Result<SocketAddress> SocketAddress::of(const std::string& path) {
  SocketAddress result;
  result.address_.sun_family = AF_UNIX;
  std::string shown = path;
  if (path.empty() || path.find('\0') != std::string::npos)
    return fail(Errc::kUsage, "a socket path must not be empty or contain a zero byte");
  if (path.size() >= sizeof result.address_.sun_path) {
    const auto slash = path.rfind('/');
    const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    result.file_.reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!result.file_)
      return fail(errc_of(errno), "cannot open the folder of {}: {}", path, errno_text());
    const auto name = slash == std::string::npos ? path : path.substr(slash + 1);
    shown = fmt::format("/proc/self/fd/{}/{}", result.file_.get(), name);
    if (shown.size() >= sizeof result.address_.sun_path)
      return fail(Errc::kUsage, "the socket name {} is too long", name);
  }
  std::memcpy(result.address_.sun_path, shown.data(), shown.size());
  return result;
}

SocketAddress SocketAddress::of(UniqueFd file) {
  SocketAddress result;
  result.address_.sun_family = AF_UNIX;
  const auto link = fmt::format("/proc/self/fd/{}", file.get());
  std::memcpy(result.address_.sun_path, link.data(), link.size());
  result.file_ = std::move(file);
  return result;
}

}  // namespace clrscope::ipc
