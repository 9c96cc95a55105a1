#include "ipc/socket_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "ipc/peer.h"
#include "ipc/socket_address.h"
#include "ipc/target_socket.h"

namespace clrscope::ipc {
namespace {

constexpr std::string_view kBegin = "dotnet-diagnostic-";
constexpr std::string_view kEnd = "-socket";

constexpr int kMostFiles = 1 << 20;  // a target may fill its folder: do not read for minutes

std::vector<FoundSocket> read_folder(int folder) {
  std::vector<FoundSocket> found;
  UniqueFd readable{::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!readable) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> files{::fdopendir(readable.get()), ::closedir};
  if (!files) return found;
  (void)readable.release();
  const dirent* entry = nullptr;
  for (int i = 0; i < kMostFiles && (entry = ::readdir(files.get())); ++i)
    if (const auto name = parse_socket_name(entry->d_name)) found.push_back({*name, entry->d_name});
  return found;
}

std::pair<std::int64_t, std::int64_t> changed(int folder, const std::string& name) {
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {-1, 0};
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

// A socket that cannot be asked who listens may be that of a process known to have a runtime.
bool listens(int folder, const std::string& name, const SocketOwner& owner) {
  const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  auto file = open_socket_file(folder, name);
  if (!fd || !file) return false;
  const auto address = SocketAddress::of(std::move(*file));
  if (::connect(fd.get(), address.get(), address.size()) != 0)
    return owner.has_runtime && (errno == EAGAIN || errno == EACCES || errno == EPERM);
  const auto peer = peer_of(fd.get());
  return peer && check_peer(*peer, owner.pid, name);
}

}  // namespace

std::string socket_file_name(const SocketName& name) {
  return fmt::format("{}{}-{}{}", kBegin, name.pid, name.key, kEnd);
}

std::optional<SocketName> parse_socket_name(std::string_view file_name) {
  if (!file_name.starts_with(kBegin) || !file_name.ends_with(kEnd)) return std::nullopt;
  if (file_name.size() < kBegin.size() + kEnd.size()) return std::nullopt;
  file_name.remove_prefix(kBegin.size());
  file_name.remove_suffix(kEnd.size());
  const auto parts = split(file_name, '-');
  if (parts.size() != 2) return std::nullopt;
  const auto pid = parse_number(parts[0]);
  const auto key = parse_number(parts[1]);
  if (!pid || !key || *pid == 0 || *pid > std::numeric_limits<pid_t>::max()) return std::nullopt;
  return SocketName{static_cast<pid_t>(*pid), *key};
}

const std::vector<FoundSocket>& SocketFolders::in(int folder) {
  static const std::vector<FoundSocket> kNone;
  struct stat info {};
  if (::fstat(folder, &info) != 0) return kNone;
  const FolderId id{info.st_dev, info.st_ino};
  if (const auto known = folders_.find(id); known != folders_.end()) return known->second;
  return folders_.emplace(id, read_folder(folder)).first->second;
}

std::string choose_socket(int folder, const std::vector<FoundSocket>& sockets,
                          const SocketOwner& owner) {
  std::vector<std::string> others;
  for (const auto& socket : sockets) {
    if (socket.name.pid != owner.namespace_pid || !open_socket_file(folder, socket.file_name))
      continue;
    if (owner.has_runtime && socket.name.key == owner.start_ticks) return socket.file_name;
    others.push_back(socket.file_name);
  }
  // Keys differ in time namespaces; and what a dead process of the same pid left behind lies here.
  if (others.size() > 1)
    std::ranges::sort(others, std::ranges::greater{},
                      [&](const auto& name) { return changed(folder, name); });
  const auto alive =
      std::ranges::find_if(others, [&](const auto& name) { return listens(folder, name, owner); });
  return alive == others.end() ? std::string{} : *alive;
}

}  // namespace clrscope::ipc
