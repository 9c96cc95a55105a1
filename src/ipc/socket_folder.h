// The diagnostic sockets in temporary folders, each folder read once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clrscope::ipc {

// "dotnet-diagnostic-{pid}-{key}-socket": the pid in its own namespace and the start of the process
// in clock ticks since boot.
struct SocketName {
  pid_t pid = 0;
  std::uint64_t key = 0;
};
std::optional<SocketName> parse_socket_name(std::string_view file_name);
std::string socket_file_name(const SocketName& name);

struct FoundSocket {
  SocketName name;
  std::string file_name;
};

class SocketFolders {
 public:
  // Sockets in a folder; a folder met under two paths is read once. Unreadable: none.
  const std::vector<FoundSocket>& in(const std::string& folder);

 private:
  using FolderId = std::pair<dev_t, ino_t>;
  std::map<FolderId, std::vector<FoundSocket>> folders_;
};

// The path of the socket of a process that started at `start_ticks`: the one with that key, else
// the newest that somebody listens on. Empty when there is none.
std::string choose_socket(const std::string& folder, const std::vector<FoundSocket>& sockets,
                          pid_t namespace_pid, std::uint64_t start_ticks);

}  // namespace clrscope::ipc
