// An HTTP/1.1 server for TCP, TLS and unix sockets: many clients wait, few threads work.
//
// The handler is called on a thread that serves many clients: it must not wait. It answers at once,
// or hands its HttpReply to whoever will. All input is limited and every wait has a deadline; what
// is refused is counted. Not here: routes, keys, pages (http/).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/connection_table.h"
#include "net/http_message.h"
#include "net/http_parser.h"
#include "net/socket.h"
#include "net/tls.h"

namespace clrscope::net {

class HttpExchange;

// An answer that is written piece by piece: a recording, a live view. Any thread. When the last
// holder lets go without end(), the connection is broken, so that the client sees that it lacks
// something.
class HttpStream {
 public:
  explicit HttpStream(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  // Waits while the client lags behind. False: the client is gone. Not on the handler's thread.
  bool write(std::string bytes);
  // Never waits. False: the client lags behind, or is gone; the bytes are dropped.
  bool try_write(std::string bytes);
  // Waits until write() would not. False: not within that time, or the client is gone.
  bool wait_for_room(std::chrono::nanoseconds most);
  // Closes the connection at once, with what waits to be sent: the client is too slow.
  void cut();
  bool gone() const;
  void end(std::vector<HttpField> trailers = {});

 private:
  std::shared_ptr<HttpExchange> exchange_;
};

// The right to answer one request, once, from any thread. One that is lost answers 500.
class HttpReply {
 public:
  explicit HttpReply(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
  ~HttpReply();
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&&) = delete;

  void send(HttpResponse response);
  // The head goes out at once, with what body it has.
  std::shared_ptr<HttpStream> stream(HttpResponse head);
  bool gone() const;  // the client no longer waits
  // The same for any thread, also after send() and stream().
  std::function<bool()> watch() const;

 private:
  std::shared_ptr<HttpExchange> exchange_;
};

using HttpHandler = std::function<void(HttpRequest request, HttpReply reply)>;

// What is decided when only the head is there: the Host check, keys, how much body may come.
struct HttpAdmission {
  std::optional<HttpResponse> refusal{};
  std::optional<std::uint64_t> body_limit{};        // else that of the setting
  std::function<bool(std::string_view)> body_to{};  // instead of HttpRequest::body
  // Why body_to returned false; nothing: 413.
  std::function<std::optional<HttpResponse>()> body_refusal{};
  std::shared_ptr<void> admitted{};  // for the handler: HttpRequest::admitted
  bool known = false;   // the caller is known: its connection no longer counts as a newcomer
  bool health = false;  // answered in the reserve too, when all connections are taken
};

// How a request that was handed to the handler ended.
struct HttpOutcome {
  int status = 0;           // 0: nothing was sent
  std::uint64_t bytes = 0;  // of the answer, head included
  std::chrono::nanoseconds took{};
  bool whole = false;  // the client was given all of it
};

struct HttpEndpoint {
  Address address{};                  // port 0: a free one
  std::shared_ptr<TlsContext> tls{};  // none: plain
};

struct HttpServerSetting {
  std::vector<HttpEndpoint> endpoints{};
  HttpLimits limits{};
  std::size_t threads = 1;
  ConnectionLimits connections{};
  std::chrono::nanoseconds request_time{std::chrono::seconds{15}};  // to send a request; large
                                                                    // bodies: 100 KB a second more
  std::chrono::nanoseconds first_byte_time{std::chrono::seconds{5}};  // of a new connection
  std::chrono::nanoseconds idle_time{std::chrono::seconds{75}};       // between two requests
  std::chrono::nanoseconds write_time{std::chrono::seconds{30}};      // to take 64 KB of an answer
  std::size_t stream_buffer = 1 << 20;  // bytes a stream may be ahead of its client
  std::function<HttpAdmission(const HttpRequest& head)> admit{};
  // After each answer; the outline has the method, the target, the peer and what was admitted.
  std::function<void(const HttpRequest& outline, const HttpOutcome& outcome)> answered{};
};

struct HttpServerState {
  std::uint64_t open = 0;        // connections now
  std::uint64_t accepted = 0;    // connections so far
  std::uint64_t requests = 0;    // handed to the handler
  std::uint64_t bad = 0;         // refused before: 400, 413, 431, 501, 505
  std::uint64_t timed_out = 0;   // cut: 408, or an answer not taken
  std::uint64_t overflowed = 0;  // connections above the limit: answered 503, or closed
  std::uint64_t displaced = 0;   // connections closed to make room for new ones
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(HttpServerSetting setting, HttpHandler handler);
  ~HttpServer();  // stop({})

  // As they really are, in the order of the setting.
  const std::vector<Address>& addresses() const;
  HttpServerState state() const;
  // No new requests; answers under way have that long to end. Not from a handler.
  void stop(std::chrono::nanoseconds patience);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether a Host field names one of `names` (without port), an IP address that is loopback, or
// localhost: what a page of another site cannot make a browser send.
bool local_host_field(std::optional<std::string_view> host, const std::vector<std::string>& names);

}  // namespace clrscope::net
