#include "net/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>

#include "base/text.h"

namespace clrscope::net {
namespace {

constexpr std::string_view kUnix = "unix:";

Result<> wait_for(int fd, short what, const Deadline& deadline) {
  pollfd one{.fd = fd, .events = what, .revents = 0};
  for (;;) {
    const int ready = ::poll(&one, 1, deadline.poll_timeout());
    if (ready > 0) return {};
    if (ready == 0) return fail(Errc::kTimeout, "no answer in time");
    if (errno != EINTR) return fail(Errc::kSystem, "poll: {}", errno_text());
  }
}

Result<UniqueFd> connect_to(const sockaddr* to, socklen_t size, int family, int type,
                            const std::string& text, const Deadline& deadline) {
  UniqueFd fd{::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return fail(Errc::kSystem, "cannot create a socket for {}: {}", text, errno_text());
  if (::connect(fd.get(), to, size) != 0) {
    if (errno != EINPROGRESS)
      return fail(Errc::kSystem, "cannot connect to {}: {}", text, errno_text());
    if (const auto done = wait_for(fd.get(), POLLOUT, deadline); !done)
      return fail(Errc::kTimeout, "cannot connect to {}: {}", text, done.error().what);
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0)
      return fail(Errc::kSystem, "cannot connect to {}: {}", text, std::strerror(error));
  }
  if (type == SOCK_STREAM && family != AF_UNIX) {
    const int yes = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  return fd;
}

}  // namespace

std::string Address::text() const {
  if (!path.empty()) return fmt::format("{}{}", kUnix, path);
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Result<Address> parse_address(std::string_view text, std::string_view default_port) {
  Address address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (address.path.empty() || address.path.size() >= sizeof sockaddr_un{}.sun_path)
      return fail(Errc::kUsage, "'{}' is not a valid unix socket path", text)
          .hint("use unix:PATH with at most 107 characters");
    return address;
  }
  auto rest = text;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos)
      return fail(Errc::kUsage, "'{}' has no closing ]", text).hint("[::1]:2003");
    address.host = rest.substr(1, close - 1);
    rest = rest.substr(close + 1);
  } else {
    const auto colon = rest.rfind(':');
    address.host = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon);
  }
  address.port = rest.starts_with(':') ? rest.substr(1) : default_port;
  const auto port = parse_number(address.port);
  if (address.host.empty() || !port || *port > 65535)
    return fail(Errc::kUsage, "'{}' is not an address", text)
        .hint("use HOST:PORT, [IPV6]:PORT or unix:PATH");
  return address;
}

Result<UniqueFd> connect(const Address& address, Transport transport, const Deadline& deadline) {
  const int type = transport == Transport::kStream ? SOCK_STREAM : SOCK_DGRAM;
  const auto text = address.text();
  if (!address.path.empty()) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address.path.data(), address.path.size());
    return connect_to(reinterpret_cast<const sockaddr*>(&to), sizeof to, AF_UNIX, type, text,
                      deadline);
  }
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* raw = nullptr;
  if (const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &raw);
      error != 0)
    return fail(Errc::kNotFound, "cannot find {}: {}", text, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{raw, ::freeaddrinfo};
  Result<UniqueFd> last = fail(Errc::kNotFound, "{} has no address", text);
  for (const auto* one = all.get(); one; one = one->ai_next) {
    last = connect_to(one->ai_addr, one->ai_addrlen, one->ai_family, type, text, deadline);
    if (last) break;
  }
  return last;
}

Result<> send_all(int fd, Bytes bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TRY(wait_for(fd, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return fail(Errc::kSystem, "cannot send: {}", errno_text());
    }
  }
  return {};
}

Result<std::size_t> receive_some(int fd, std::span<std::uint8_t> into, const Deadline& deadline) {
  for (;;) {
    const auto got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TRY(wait_for(fd, POLLIN, deadline));
    } else if (errno != EINTR) {
      return fail(Errc::kSystem, "cannot receive: {}", errno_text());
    }
  }
}

}  // namespace clrscope::net
