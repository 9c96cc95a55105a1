// One client's requests, one after the other, and their answers. For http_server.cpp only.
//
// Lives on the thread of its loop; wake() may come from any.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/conn.h"
#include "net/http_exchange.h"

namespace clrscope::net {

struct HttpCounts {
  std::atomic<std::uint64_t> open{0}, accepted{0}, requests{0}, bad{0}, timed_out{0}, overflowed{0};
};

// What the connections of a loop share.
struct HttpService {
  const HttpServerSetting& setting;
  const HttpHandler& handler;
  HttpCounts& counts;
  asio::io_context& context;
  std::string date{};
  bool stopping = false;  // answer what was asked, then no more
};

class HttpConnection final : public HttpWaker, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpService& service, std::unique_ptr<Conn> conn, HttpPeer peer,
                 std::shared_ptr<ConnectionTable::Place> place)
      : service_(service),
        conn_(std::move(conn)),
        peer_(std::move(peer)),
        place_(std::move(place)),
        timer_(service.context) {}

  asio::awaitable<void> serve();

  void wake() override;  // any thread
  void drop() override;  // any thread
  void sweep(TraceTime now) { conn_->expire(now); }
  void stop_if_idle();
  void abort();

 private:
  enum class Next { kRequest, kClose, kRefused, kDrop };

  asio::awaitable<Next> serve_one();
  // False: there will be no request; what is to be said was said.
  asio::awaitable<bool> receive(HttpRequestParser& parser);
  std::optional<HttpResponse> admit(HttpRequestParser& parser, HttpAdmission& admission);
  asio::awaitable<bool> receive_body(HttpRequestParser& parser, TraceTime began);
  asio::awaitable<Next> answer(const HttpRequest& request, bool head_only,
                               std::shared_ptr<HttpExchange> exchange);
  asio::awaitable<void> say(HttpResponse response);
  HttpResponse refusal_of(int status, std::string_view why);
  asio::awaitable<void> refuse(int status, std::string_view why);
  asio::awaitable<void> linger();
  void watch_peer(const std::shared_ptr<HttpExchange>& exchange);

  HttpService& service_;
  std::unique_ptr<Conn> conn_;
  const HttpPeer peer_;
  const std::shared_ptr<ConnectionTable::Place> place_;
  asio::steady_timer timer_;  // waits for wake()
  std::string buffer_;        // came and not used yet
  HttpOutcome outcome_;       // of the request at hand
  bool idle_ = false;         // between two requests
  bool spoke_ = false;        // the head of a request came
  bool left_ = false;         // the client closed its side
  bool aborted_ = false;
};

}  // namespace clrscope::net
