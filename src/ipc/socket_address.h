// The address of a unix socket with a path of any length.
//
// sun_path holds 107 bytes; /proc/PID/root/… is often longer. Such a path is reached through an
// open descriptor of its folder, which this object keeps.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ipc {

class SocketAddress {
 public:
  static Result<SocketAddress> of(const std::string& path);
  // Of a socket file that is open (O_PATH): no name is looked up again.
  static SocketAddress of(UniqueFd file);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return sizeof address_; }

 private:
  SocketAddress() = default;

  sockaddr_un address_{};
  UniqueFd file_;  // the folder, or the socket itself
};

}  // namespace clrscope::ipc
