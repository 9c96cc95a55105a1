#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "ipc/endpoint.h"
#include "ipc/peer.h"
#include "ipc/socket_address.h"
#include "ipc/target_socket.h"

namespace clrscope::ipc {
namespace {

Failure connect_failure(const std::string& path, int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return fail(Errc::kGone, "cannot connect to {}: no such socket", path)
          .hint("the process has probably ended; run clrscope ps to list the processes");
    case ECONNREFUSED:
      return fail(Errc::kGone, "cannot connect to {}: connection refused", path)
          .hint("the process has probably ended; run clrscope ps to list the processes");
    case EACCES:
    case EPERM:
      return fail(Errc::kDenied, "cannot connect to {}: {}", path, errno_text(number))
          .hint("run as the user that owns the process, or as root");
    case EAGAIN:
      return fail(Errc::kTimeout, "{} does not accept connections", path)
          .hint("check whether the process is stopped or in a debugger");
    default:
      return fail(Errc::kSystem, "cannot connect to {}: {}", path, errno_text(number));
  }
}

class ConnectEndpoint : public Endpoint {
 public:
  ConnectEndpoint(std::string path, pid_t process) : path_(std::move(path)), process_(process) {}

  Result<UniqueFd> connect(const Deadline& deadline) override {
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!fd) return fail(Errc::kSystem, "cannot create a socket: {}", errno_text());
    auto address = find();
    if (!address) {
      if (address.error().code == Errc::kNotFound) return connect_failure(path_, ENOENT);
      return fail(std::move(address).error());
    }
    // The kernel waits that long for a place in a full backlog: the only part that can block.
    const auto left = std::max<std::int64_t>(1, deadline.left().count());
    const timeval patience{left / 1000, left % 1000 * 1000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (::connect(fd.get(), address->get(), address->size()) != 0) {
      if (errno == EINTR && !deadline.passed()) continue;
      return connect_failure(path_, errno);
    }
    const auto peer = TRY(peer_of(fd.get()));
    if (process_ != 0) TRY(check_peer(peer, process_, path_));
    peer_ = peer.pid;
    return fd;
  }

  std::string name() const override { return path_; }
  pid_t peer() const override { return peer_; }

 private:
  Result<SocketAddress> find() const {
    if (process_ == 0) return SocketAddress::of(path_);
    auto file = open_target_socket(process_, path_);
    if (!file) return fail(std::move(file).error());
    return SocketAddress::of(std::move(*file));
  }

  std::string path_;
  pid_t process_;  // who must be there; 0: anybody
  std::atomic<pid_t> peer_ = 0;
};

}  // namespace

std::unique_ptr<Endpoint> connect_endpoint(std::string path) {
  return std::make_unique<ConnectEndpoint>(std::move(path), 0);
}

std::unique_ptr<Endpoint> connect_endpoint(std::string path, pid_t process) {
  CHECK(process > 0);
  return std::make_unique<ConnectEndpoint>(std::move(path), process);
}

}  // namespace clrscope::ipc
