// A socket that waits for connections, at the address it really got.
#pragma once

#include "net/socket.h"

namespace clrscope::net {

struct Listening {
  UniqueFd fd;
  Address address;  // with the real port
};

// Port 0 takes a free one. A unix socket that nobody listens on any more is replaced; its file
// belongs to its owner alone.
Result<Listening> listen_at(const Address& address, int backlog = 1024);

}  // namespace clrscope::net
