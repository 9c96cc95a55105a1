#include "ipc/peer.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/proc.h"

namespace clrscope::ipc {
namespace {

std::string words_for(const Peer& peer) {
  if (peer.pid == 0)
    return fmt::format("a process of user {} in another pid namespace", user_name(peer.uid));
  return fmt::format("process {} of user {}", peer.pid, user_name(peer.uid));
}

}  // namespace

Result<Peer> peer_of(int connection) {
  ucred other{};
  socklen_t size = sizeof other;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0)
    return fail(Errc::kSystem, "cannot identify the peer: {}", errno_text());
  return Peer{.uid = other.uid, .pid = other.pid};
}

Result<> check_peer(const Peer& peer, pid_t process, const std::string& shown) {
  const auto status = proc_status(process);
  // A process that we know by number is in our pid namespace or below: the kernel tells its number.
  // Hidden (hidepid): the pid is all that can be compared.
  if (peer.pid == process && (!status || peer.uid == 0 ||
                              std::ranges::find(status->users, peer.uid) != status->users.end()))
    return {};
  const auto owner = status ? fmt::format(" of user {}", user_name(status->uid)) : std::string{};
  return fail(Errc::kDenied, "{} is not the socket of process {}{}: {} listens there", shown,
              process, owner, words_for(peer))
      .hint("another process uses the name of this socket: end it and remove the socket file");
}

}  // namespace clrscope::ipc
