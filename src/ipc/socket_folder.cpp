#include "ipc/socket_folder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "ipc/socket_address.h"

namespace clrscope::ipc {
namespace {

constexpr std::string_view kBegin = "dotnet-diagnostic-";
constexpr std::string_view kEnd = "-socket";

std::vector<FoundSocket> read_folder(const std::string& folder) {
  std::vector<FoundSocket> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> files{::opendir(folder.c_str()), ::closedir};
  if (!files) return found;
  while (const auto* entry = ::readdir(files.get()))
    if (const auto name = parse_socket_name(entry->d_name)) found.push_back({*name, entry->d_name});
  return found;
}

std::pair<std::int64_t, std::int64_t> changed(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {-1, 0};
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

// False only when it is sure that nobody listens.
bool somebody_listens(const std::string& path) {
  const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const auto address = SocketAddress::of(path);
  if (!fd || !address) return false;
  if (::connect(fd.get(), address->get(), address->size()) == 0) return true;
  return errno == EAGAIN || errno == EACCES || errno == EPERM;
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

const std::vector<FoundSocket>& SocketFolders::in(const std::string& folder) {
  static const std::vector<FoundSocket> kNone;
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return kNone;
  const FolderId id{info.st_dev, info.st_ino};
  if (const auto known = folders_.find(id); known != folders_.end()) return known->second;
  return folders_.emplace(id, read_folder(folder)).first->second;
}

std::string choose_socket(const std::string& folder, const std::vector<FoundSocket>& sockets,
                          pid_t namespace_pid, std::uint64_t start_ticks) {
  std::vector<std::string> others;
  for (const auto& socket : sockets) {
    if (socket.name.pid != namespace_pid) continue;
    auto path = folder + "/" + socket.file_name;
    if (socket.name.key == start_ticks) return path;
    others.push_back(std::move(path));
  }
  // Keys differ in time namespaces; and what a dead process of the same pid left behind lies here.
  if (others.size() > 1)
    std::ranges::sort(others, std::ranges::greater{},
                      [](const auto& path) { return changed(path); });
  const auto alive = std::ranges::find_if(others, somebody_listens);
  return alive == others.end() ? std::string{} : *alive;
}

}  // namespace clrscope::ipc
