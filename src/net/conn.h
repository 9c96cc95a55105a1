// One client's connection, plain or TLS, as coroutines see it. For http_server.cpp only: it brings
// Boost.Asio, which few files should compile.
//
// Everything happens on the thread of its io_context. Waits end at the deadline; the server's sweep
// sees to that, a fifth of a second late at most.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "net/tls.h"

namespace clrscope::net {

namespace asio = boost::asio;

class Conn {
 public:
  virtual ~Conn() = default;
  virtual asio::awaitable<bool> handshake() = 0;
  // Appends what is there, at least a byte; nothing: closed, failed, or the deadline passed.
  virtual asio::awaitable<std::size_t> read_some(std::string& into) = 0;
  virtual asio::awaitable<bool> write(std::string_view bytes) = 0;
  // No more from us: good-bye in TLS, then the end of the stream.
  virtual asio::awaitable<void> finish() = 0;

  asio::generic::stream_protocol::socket& socket() { return socket_; }
  void set_deadline(std::chrono::nanoseconds from_now) {
    deadline_ = TraceClock::now() + from_now;
    expired_ = false;
  }
  void no_deadline() { deadline_ = TraceTime::max(); }
  bool expired() const { return expired_; }
  // By the sweep: ends what waits if its time is over.
  void expire(TraceTime now) {
    if (now < deadline_) return;
    expired_ = true;
    deadline_ = TraceTime::max();
    socket_.cancel(ignored_);
  }

 protected:
  Conn(asio::generic::stream_protocol::socket socket, std::chrono::nanoseconds write_time)
      : socket_(std::move(socket)), write_time_(write_time) {}

  asio::generic::stream_protocol::socket socket_;
  std::chrono::nanoseconds write_time_;
  TraceTime deadline_ = TraceTime::max();
  bool expired_ = false;
  boost::system::error_code ignored_{};
};

// `tls`: none for a plain connection. Takes the descriptor of an accepted socket.
std::unique_ptr<Conn> make_conn(asio::io_context& context, UniqueFd fd, int family,
                                const std::shared_ptr<TlsContext>& tls,
                                std::chrono::nanoseconds write_time);

}  // namespace clrscope::net
