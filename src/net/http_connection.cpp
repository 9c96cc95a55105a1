#include "net/http_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"

namespace clrscope::net {
namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr auto kLingerTime = std::chrono::seconds{2};
constexpr std::size_t kLingerBytes = 4 << 20;
constexpr std::uint64_t kBodyBytesPerSecond = 100'000;  // slower ones are cut
constexpr std::size_t kKeptBuffer = 4 << 10;
constexpr std::size_t kJoined = 16 << 10;  // a body up to here is sent with its head

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;  // that would be the last chunk
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out += bytes;
  out += "\r\n";
}

void append_last_chunk(std::string& out, const std::vector<HttpField>& trailers) {
  out += "0\r\n";
  // A trailer is written as a field of a head is.
  const HttpResponse carrier{.type = {}, .fields = trailers};
  const auto head = response_head(carrier, HttpFraming::kClose, 0, true, {});
  out += head.substr(head.find("\r\n") + 2);
}

}  // namespace

void HttpConnection::wake() {
  if (service_.context.get_executor().running_in_this_thread()) {
    timer_.cancel();
  } else {
    asio::post(service_.context, [self = shared_from_this()] { self->timer_.cancel(); });
  }
}

void HttpConnection::drop() {
  asio::post(service_.context, [self = shared_from_this()] { self->abort(); });
}

void HttpConnection::stop_if_idle() {
  if (!idle_) return;
  aborted_ = true;
  boost::system::error_code ignored;
  conn_->socket().cancel(ignored);
}

void HttpConnection::abort() {
  aborted_ = true;
  boost::system::error_code ignored;
  conn_->socket().close(ignored);
  timer_.cancel();
}

asio::awaitable<void> HttpConnection::serve() {
  // Nothing is kept of a client that says nothing, not even the state of TLS.
  idle_ = true;
  conn_->set_deadline(service_.setting.first_byte_time);
  const auto [silent] = co_await conn_->socket().async_wait(asio::socket_base::wait_read, kToken);
  if (silent) co_return;
  idle_ = false;
  conn_->set_deadline(service_.setting.request_time);
  const bool agreed = co_await conn_->handshake();
  if (!agreed) {
    if (conn_->expired()) ++service_.counts.timed_out;
    co_return;
  }
  for (;;) {
    const auto next = co_await serve_one();
    if (next == Next::kRequest && !aborted_) continue;
    if (next == Next::kDrop || aborted_) co_return;
    if (next == Next::kRefused || !buffer_.empty())
      co_await linger();
    else
      co_await conn_->finish();
    co_return;
  }
}

asio::awaitable<HttpConnection::Next> HttpConnection::serve_one() {
  HttpRequestParser parser{service_.setting.limits};
  const bool whole = co_await receive(parser);
  if (!whole) co_return idle_ || aborted_ ? Next::kDrop : Next::kRefused;
  auto& request = parser.request();
  request.peer = peer_;
  ++service_.counts.requests;
  const auto exchange =
      std::make_shared<HttpExchange>(shared_from_this(), service_.setting.stream_buffer);
  // What answer() needs of a request that the handler takes away.
  HttpRequest outline;
  outline.admitted = request.admitted;  // lives until the answer is out
  if (service_.setting.answered) {
    outline.method = request.method;
    outline.target = request.target;
    outline.peer = peer_;
  }
  outline.http11 = request.http11;
  outline.keep_alive = request.keep_alive;
  const bool head_only = request.method == "HEAD";
  left_ = false;
  outcome_ = {};
  const auto began = TraceClock::now();
  try {
    service_.handler(std::move(request), HttpReply{exchange});
  } catch (const std::exception& problem) {  // the reply that was lost answers 500
    log(LogLevel::kError, "an HTTP request failed: {}", problem.what());
  }
  const auto next = co_await answer(outline, head_only, exchange);
  exchange->close();
  if (service_.setting.answered) {
    outcome_.took = TraceClock::now() - began;
    service_.setting.answered(outline, outcome_);
  }
  if (buffer_.empty() && buffer_.capacity() > kKeptBuffer) buffer_ = {};
  co_return next;
}

asio::awaitable<bool> HttpConnection::receive(HttpRequestParser& parser) {
  auto began = TraceClock::now();
  idle_ = buffer_.empty();
  const auto& setting = service_.setting;
  const auto idle_time = spoke_ ? setting.idle_time : setting.first_byte_time;
  conn_->set_deadline(idle_ ? idle_time : setting.request_time);
  place_->wait();
  while (parser.phase() == HttpPhase::kHead) {
    if (service_.stopping && idle_) co_return false;
    if (!buffer_.empty()) {
      buffer_.erase(0, parser.put(buffer_));
      if (parser.phase() != HttpPhase::kHead) break;
      if (idle_ && parser.started()) {  // the request's own time begins
        idle_ = false;
        began = TraceClock::now();
        conn_->set_deadline(setting.request_time);
      }
    }
    const auto got = co_await conn_->read_some(buffer_);
    if (got > 0) continue;
    if (!idle_ && conn_->expired()) co_await refuse(408, "the request took too long");
    co_return false;
  }
  idle_ = false;
  spoke_ = true;
  place_->work();
  co_return co_await receive_body(parser, began);
}

// Asks who it is, when only the head is there. What to answer if it is not welcome.
std::optional<HttpResponse> HttpConnection::admit(HttpRequestParser& parser,
                                                  HttpAdmission& admission) {
  if (service_.setting.admit) {
    parser.request().peer = peer_;
    admission = service_.setting.admit(parser.request());
  }
  if (place_->of_reserve() && !admission.health) {
    ++service_.counts.overflowed;
    return HttpResponse{
        .status = 503,
        .fields = {{"Retry-After", "5"}},
        .body = fmt::format("all {} connections are in use\n", service_.setting.connections.all)};
  }
  if (admission.refusal) ++service_.counts.bad;
  if (admission.refusal) return std::move(admission.refusal);
  if (admission.known) place_->become_known();
  if (admission.body_limit) parser.limit_body(*admission.body_limit);
  if (admission.body_to) parser.body_to(std::move(admission.body_to));
  parser.request().admitted = std::move(admission.admitted);
  return std::nullopt;
}

asio::awaitable<bool> HttpConnection::receive_body(HttpRequestParser& parser, TraceTime began) {
  HttpAdmission admission;
  if (parser.phase() != HttpPhase::kBad) {
    auto refusal = admit(parser, admission);
    if (refusal) {
      co_await say(std::move(*refusal));
      co_return false;
    }
    parser.begin_body();
  }
  if (parser.phase() == HttpPhase::kBody && buffer_.empty() && parser.expects_continue()) {
    const bool told = co_await conn_->write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told) co_return false;
  }
  std::uint64_t received = 0;
  while (parser.phase() == HttpPhase::kBody) {
    if (!buffer_.empty()) {
      buffer_.erase(0, parser.put(buffer_));
      if (parser.phase() != HttpPhase::kBody) break;
    }
    const auto allowed =
        service_.setting.request_time + std::chrono::seconds{received / kBodyBytesPerSecond};
    conn_->set_deadline(began + allowed - TraceClock::now());
    const auto got = co_await conn_->read_some(buffer_);
    received += got;
    if (got > 0) continue;
    if (conn_->expired()) co_await refuse(408, "the body took too long");
    co_return false;
  }
  conn_->no_deadline();
  if (parser.phase() == HttpPhase::kBad) {
    auto refusal = admission.body_refusal ? admission.body_refusal() : std::nullopt;
    if (!refusal) refusal = refusal_of(parser.status(), parser.why());
    co_await say(std::move(*refusal));
    co_return false;
  }
  co_return true;
}

asio::awaitable<HttpConnection::Next> HttpConnection::answer(
    const HttpRequest& request, bool head_only, std::shared_ptr<HttpExchange> exchange) {
  bool keep = request.keep_alive;
  bool streaming = false, watched = false;
  for (;;) {
    auto news = exchange->take();
    if (!news.any()) {
      if (aborted_ || (left_ && streaming)) co_return Next::kDrop;
      if (!watched) watch_peer(exchange);
      watched = true;
      timer_.expires_at(std::chrono::steady_clock::time_point::max());
      (void)co_await timer_.async_wait(kToken);
      continue;
    }
    if (service_.stopping) keep = false;
    std::string out;
    if (news.head && !news.streaming) {
      const auto& body = news.head->shared_body ? *news.head->shared_body : news.head->body;
      out = response_head(*news.head, HttpFraming::kLength, body.size(), keep, service_.date);
      const bool joined = head_only || body.size() <= kJoined;
      if (joined && !head_only) out += body;
      bool sent = co_await conn_->write(out);
      if (sent && !joined) sent = co_await conn_->write(body);
      outcome_ = {.status = news.head->status,
                  .bytes = out.size() + (joined ? 0 : body.size()),
                  .whole = sent};
      if (!sent && conn_->expired()) ++service_.counts.timed_out;
      boost::system::error_code ignored;
      if (watched) conn_->socket().cancel(ignored);  // it may be closed
      if (!sent) co_return Next::kDrop;
      co_return keep ? Next::kRequest : Next::kClose;
    }
    const bool chunked = request.http11;
    if (!chunked) keep = false;
    if (news.head) {
      streaming = true;
      out = response_head(*news.head, chunked ? HttpFraming::kChunked : HttpFraming::kClose, 0,
                          keep, service_.date);
      news.bytes.insert(0, news.head->body);
      outcome_.status = news.head->status;
    }
    if (!head_only && chunked)
      append_chunk(out, news.bytes);
    else if (!head_only)
      out += news.bytes;
    if (news.ended && !news.broken && chunked && !head_only) append_last_chunk(out, news.trailers);
    const bool sent = co_await conn_->write(out);
    if (!sent && conn_->expired()) ++service_.counts.timed_out;
    if (!sent) co_return Next::kDrop;
    outcome_.bytes += out.size();
    if (!news.ended) continue;
    outcome_.whole = !news.broken;
    boost::system::error_code ignored;
    if (watched) conn_->socket().cancel(ignored);
    if (news.broken) {
      // Without chunks only a reset tells an end from a break.
      if (!chunked) conn_->socket().set_option(asio::socket_base::linger{true, 0}, ignored);
      co_return Next::kDrop;
    }
    co_return keep ? Next::kRequest : Next::kClose;
  }
}

// A client that closes its sending side is taken to have left: a stream to it ends. A plain answer
// is still written.
void HttpConnection::watch_peer(const std::shared_ptr<HttpExchange>& exchange) {
  conn_->socket().async_wait(
      asio::socket_base::wait_read,
      [self = shared_from_this(),
       weak = std::weak_ptr<HttpExchange>{exchange}](const boost::system::error_code& error) {
        if (error) return;
        pollfd one{.fd = self->conn_->socket().native_handle(), .events = POLLRDHUP, .revents = 0};
        if (::poll(&one, 1, 0) <= 0) return;  // the next request came early
        self->left_ = true;
        if (const auto asked = weak.lock()) asked->client_left();
        self->timer_.cancel();
      });
}

asio::awaitable<void> HttpConnection::say(HttpResponse response) {
  auto out =
      response_head(response, HttpFraming::kLength, response.body.size(), false, service_.date);
  out += response.body;
  (void)co_await conn_->write(out);
}

HttpResponse HttpConnection::refusal_of(int status, std::string_view why) {
  if (status == 408)
    ++service_.counts.timed_out;
  else
    ++service_.counts.bad;
  return {.status = status, .body = fmt::format("{}\n", why)};
}

asio::awaitable<void> HttpConnection::refuse(int status, std::string_view why) {
  auto response = refusal_of(status, why);
  co_await say(std::move(response));
}

// Closing while unread bytes wait resets the connection, and the client may lose the answer.
asio::awaitable<void> HttpConnection::linger() {
  co_await conn_->finish();
  conn_->set_deadline(kLingerTime);
  for (std::size_t all = 0; all < kLingerBytes;) {
    buffer_.clear();
    const auto got = co_await conn_->read_some(buffer_);
    if (got == 0) co_return;
    all += got;
  }
}

}  // namespace clrscope::net
