#include "net/conn.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace clrscope::net {
namespace {

using Socket = asio::generic::stream_protocol::socket;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 64 << 10;  // a write's deadline begins anew after so many bytes

// TCP and unix sockets alike. Asio only tells when the socket is ready: a client that sends nothing
// holds no buffer.
class PlainConn : public Conn {
 public:
  PlainConn(Socket socket, std::chrono::nanoseconds write_time)
      : Conn(std::move(socket), write_time) {}

  asio::awaitable<bool> handshake() override { co_return true; }

  asio::awaitable<std::size_t> read_some(std::string& into) override {
    thread_local char buffer[kPiece];  // used between two waits only
    for (;;) {
      const auto got = ::recv(socket_.native_handle(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) {
        into.append(buffer, static_cast<std::size_t>(got));
        co_return static_cast<std::size_t>(got);
      }
      if (got == 0) co_return 0;
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return 0;
      if (expired_) co_return 0;
      const auto [error] = co_await socket_.async_wait(Socket::wait_read, kToken);
      if (error) co_return 0;
    }
  }

  asio::awaitable<bool> write(std::string_view bytes) override {
    set_deadline(write_time_);
    std::size_t since = 0;
    while (!bytes.empty()) {
      const auto sent =
          ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        since += static_cast<std::size_t>(sent);
        if (since >= kPiece) set_deadline(write_time_), since = 0;
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return false;
      const auto [error] = co_await socket_.async_wait(Socket::wait_write, kToken);
      if (error) co_return false;
    }
    no_deadline();
    co_return true;
  }

  asio::awaitable<void> finish() override {
    socket_.shutdown(Socket::shutdown_send, ignored_);
    co_return;
  }
};

class TlsConn final : public PlainConn {
 public:
  TlsConn(Socket socket, std::chrono::nanoseconds write_time,
          const std::shared_ptr<TlsContext>& context)
      : PlainConn(std::move(socket), write_time), session_(context) {}

  asio::awaitable<bool> handshake() override {
    for (;;) {
      const auto done = session_.handshake();
      const bool over = !done || *done;
      if (!co_await flush(Deadlines::kKeep) || !done) co_return false;
      if (over) co_return true;
      if (!co_await more()) co_return false;
    }
  }

  asio::awaitable<std::size_t> read_some(std::string& into) override {
    const auto before = into.size();
    for (;;) {
      const auto done = session_.read(into);
      // The answer to a key update may wait to be sent.
      if (!co_await flush(Deadlines::kKeep) || !done) co_return 0;
      if (into.size() > before) co_return into.size() - before;
      if (session_.closed()) co_return 0;
      if (!co_await more()) co_return 0;
    }
  }

  asio::awaitable<bool> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto part = bytes.substr(0, kPiece);
      const auto done = session_.write(part);
      if (!done || !co_await flush(Deadlines::kSet)) co_return false;
      bytes.remove_prefix(part.size());
    }
    co_return true;
  }

  asio::awaitable<void> finish() override {
    session_.close();
    (void)co_await flush(Deadlines::kSet);
    co_await PlainConn::finish();
  }

 private:
  enum class Deadlines { kKeep, kSet };

  asio::awaitable<bool> flush(Deadlines how) {
    const auto out = session_.take_output();
    if (out.empty()) co_return true;
    const auto until = deadline_;
    const bool done = co_await PlainConn::write(out);
    if (how == Deadlines::kKeep && done) deadline_ = until;
    co_return done;
  }

  asio::awaitable<bool> more() {
    std::string raw;
    const auto got = co_await PlainConn::read_some(raw);
    session_.feed(raw);
    co_return got > 0;
  }

  TlsSession session_;
};

}  // namespace

std::unique_ptr<Conn> make_conn(asio::io_context& context, UniqueFd fd, int family,
                                const std::shared_ptr<TlsContext>& tls,
                                std::chrono::nanoseconds write_time) {
  Socket socket{context};
  boost::system::error_code error;
  socket.assign(asio::generic::stream_protocol{family, 0}, fd.get(), error);
  if (error) return nullptr;
  (void)fd.release();  // the socket's now
  if (tls) return std::make_unique<TlsConn>(std::move(socket), write_time, tls);
  return std::make_unique<PlainConn>(std::move(socket), write_time);
}

}  // namespace clrscope::net
