#include "sinks/socket_carrier.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace clrscope::sinks {
namespace {

// Of what was acknowledged and is carried again.
constexpr std::chrono::nanoseconds kRepeatTime = std::chrono::seconds{5};
constexpr std::uint64_t kRepeatBytes = 256 << 10;
constexpr int kSlice = 100;  // ms; how soon an interruption is noticed

int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Failure StreamCarrier::broken(std::string_view why) {
  socket_.reset();
  sent_.clear();
  return fail(Errc::kSystem, "{}: {}", peer_.text(), why);
}

Result<> StreamCarrier::connect() {
  socket_ = TRY(net::connect(peer_, net::Transport::kStream, Deadline{patience_.connect}));
  if (peer_.path.empty()) {
    const auto limit = static_cast<unsigned>(
        std::chrono::duration_cast<std::chrono::milliseconds>(patience_.send).count());
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    const int yes = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  }
  bytes_ = acknowledged_ = 0;
  sent_.clear();
  return {};
}

// Throws away what it sends; a failure when it is gone.
Result<> StreamCarrier::see_peer() {
  std::array<char, 4096> garbage;
  for (int i = 0; i < 16; ++i) {  // one that talks without end is heard again the next time
    const auto got = ::recv(socket_.get(), garbage.data(), garbage.size(), MSG_DONTWAIT);
    if (got == 0) return broken("the peer closed the connection");
    if (got > 0 || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    return broken(errno_text());
  }
  return {};
}

Result<> StreamCarrier::send(Bytes bytes) {
  auto moved = TraceClock::now();
  while (!bytes.empty()) {
    if (interrupted_) return broken("interrupted");
    const auto sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      moved = TraceClock::now();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (TraceClock::now() - moved > patience_.send)
        return broken(fmt::format("accepted no data for {}", format_duration(patience_.send)));
      pollfd one{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
      ::poll(&one, 1, kSlice);
      TRY(see_peer());
    } else if (errno != EINTR) {
      return broken(errno_text());
    }
  }
  return {};
}

Result<> StreamCarrier::carry(std::string_view message, std::uint32_t /*items*/) {
  if (interrupted_) return broken("interrupted");
  if (!socket_) TRY(connect());
  TRY(see_peer());
  if (sent_.empty()) progress_ = TraceClock::now();
  TRY(send(as_bytes(message)));
  bytes_ += message.size();
  sent_.push_back({bytes_, TraceClock::now()});
  return {};
}

Result<Underway> StreamCarrier::underway() {
  if (!socket_) return Underway{};
  TRY(see_peer());
  int held = 0;
  if (::ioctl(socket_.get(), SIOCOUTQ, &held) != 0) held = 0;
  const auto now = TraceClock::now();
  const auto acknowledged = bytes_ - std::min(bytes_, static_cast<std::uint64_t>(held));
  if (acknowledged > acknowledged_ || held == 0) progress_ = now;
  acknowledged_ = acknowledged;
  if (now - progress_ > patience_.send)
    return broken(fmt::format("accepted no data for {}", format_duration(patience_.send)));
  const auto may_go = [&](const Sent& one) {
    return one.end <= acknowledged_ &&
           (repeat_ == Repeat::kUnacknowledged || now - one.time > kRepeatTime ||
            bytes_ - one.end > kRepeatBytes);
  };
  while (!sent_.empty() && may_go(sent_.front())) sent_.pop_front();
  Underway underway{.repeatable = sent_.size()};
  for (auto one = sent_.rbegin(); one != sent_.rend() && one->end > acknowledged_; ++one)
    ++underway.unacknowledged;
  return underway;
}

Result<> DatagramCarrier::carry(std::string_view message, std::uint32_t /*items*/) {
  if (!socket_)
    socket_ = TRY(net::connect(peer_, net::Transport::kDatagram, Deadline{patience_.connect}));
  auto done = net::send_all(socket_.get(), as_bytes(message), Deadline{patience_.connect});
  if (const int error = done ? pending_error(socket_.get()) : 0; error != 0)
    done = fail(Errc::kSystem, "{}", errno_text(error));
  if (done) return {};
  socket_.reset();
  return fail(done.error().code, "{}: {}", peer_.text(), done.error().what);
}

}  // namespace clrscope::sinks
