#include "net/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace clrscope::net {
namespace {

Failure cannot_listen(const Address& address) {
  const int number = errno;
  auto failure =
      fail(errc_of(number), "cannot listen at {}: {}", address.text(), errno_text(number));
  if (number == EADDRINUSE)
    return std::move(failure).hint(
        "another program, or another clrscope, listens there: choose another port, or 0 for a "
        "free one");
  if (number == EACCES)
    return std::move(failure).hint(
        "choose a port above 1023; lower ones require CAP_NET_BIND_SERVICE");
  return failure;
}

Result<Listening> listen_unix(const Address& address, int backlog) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof at.sun_path)
    return fail(Errc::kUsage, "the path {} is too long for a socket", address.path);
  std::memcpy(at.sun_path, address.path.data(), address.path.size());
  // A file that nobody answers at is left over from a run that was killed.
  struct stat there {};
  if (::lstat(address.path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode) &&
      !connect(address, Transport::kStream, Deadline{std::chrono::seconds{1}}))
    ::unlink(address.path.c_str());
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return cannot_listen(address);
  ::fchmod(fd.get(), 0600);  // before it has a name
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(fd.get(), backlog) != 0)
    return cannot_listen(address);
  return Listening{std::move(fd), address};
}

Result<UniqueFd> listen_one(const addrinfo& one, const Address& address, int backlog) {
  UniqueFd fd{::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return cannot_listen(address);
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), one.ai_addr, one.ai_addrlen) != 0 || ::listen(fd.get(), backlog) != 0)
    return cannot_listen(address);
  return fd;
}

Result<Address> own_address(int fd, const Address& asked) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&at), size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return fail(Errc::kSystem, "cannot get the address of {}", asked.text());
  return Address{.host = host, .port = port};
}

}  // namespace

Result<Listening> listen_at(const Address& address, int backlog) {
  if (!address.path.empty()) return listen_unix(address, backlog);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* raw = nullptr;
  if (const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &raw);
      error != 0)
    return fail(Errc::kNotFound, "cannot listen at {}: {}", address.text(), ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{raw, ::freeaddrinfo};
  Result<UniqueFd> fd = fail(Errc::kNotFound, "{} has no address", address.text());
  for (const auto* one = all.get(); one && !fd; one = one->ai_next)
    fd = listen_one(*one, address, backlog);
  auto socket = TRY(std::move(fd));
  auto real = TRY(own_address(socket.get(), address));
  return Listening{std::move(socket), std::move(real)};
}

}  // namespace clrscope::net
