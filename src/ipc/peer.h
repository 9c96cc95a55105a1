// Who is at the other end of a unix socket, as the kernel says.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace clrscope::ipc {

struct Peer {
  uid_t uid = 0;  // seen from our user namespace
  pid_t pid = 0;  // in our pid namespace; 0 when it is not visible here
};

// Of a connection that we made: the process that called listen(), with its user at that time.
Result<Peer> peer_of(int connection);

// An error unless `peer` is `process`: its pid, and its real, effective, saved or file system user.
// A process that listened as root and became another user later is itself too. `shown` names the
// socket.
Result<> check_peer(const Peer& peer, pid_t process, const std::string& shown);

}  // namespace clrscope::ipc
