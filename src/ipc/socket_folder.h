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
  // Sockets in an open folder; a folder met under two paths is read once. Unreadable: none.
  const std::vector<FoundSocket>& in(int folder);

 private:
  using FolderId = std::pair<dev_t, ino_t>;
  std::map<FolderId, std::vector<FoundSocket>> folders_;
};

struct SocketOwner {
  pid_t pid = 0;  // as we see it
  pid_t namespace_pid = 0;
  std::uint64_t start_ticks = 0;
  bool has_runtime = true;  // known by more than a socket of its number
};
// The file name of the socket of a process: the one with its start as the key, else the newest that
// it listens on. Empty when there is none. Number and start may both be those of a process of
// another pid namespace that started in the same hundredth of a second: they are enough only for
// who has a runtime.
std::string choose_socket(int folder, const std::vector<FoundSocket>& sockets,
                          const SocketOwner& owner);

}  // namespace clrscope::ipc
