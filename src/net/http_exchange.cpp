#include "net/http_exchange.h"

namespace clrscope::net {

void HttpExchange::tell() {
  if (waker_) waker_->wake();
}

void HttpExchange::send(HttpResponse response) {
  const std::lock_guard lock{mutex_};
  if (answered_) return;
  answered_ = ended_ = true;
  head_ = std::move(response);
  tell();
}

void HttpExchange::start(HttpResponse head) {
  const std::lock_guard lock{mutex_};
  if (answered_) return;
  answered_ = streaming_ = true;
  head_ = std::move(head);
  tell();
}

bool HttpExchange::write(std::string bytes) {
  std::unique_lock lock{mutex_};
  room_.wait(lock, [&] { return has_room(); });
  if (gone_ || ended_) return false;
  queued_ += bytes;
  tell();
  return true;
}

bool HttpExchange::try_write(std::string bytes) {
  const std::lock_guard lock{mutex_};
  if (gone_ || ended_ || queued_.size() + bytes.size() > buffer_) return false;
  queued_ += bytes;
  tell();
  return true;
}

bool HttpExchange::wait_for_room(std::chrono::nanoseconds most) {
  std::unique_lock lock{mutex_};
  return room_.wait_for(lock, most, [&] { return has_room(); }) && !gone_ && !ended_;
}

void HttpExchange::cut() {
  const std::lock_guard lock{mutex_};
  if (ended_) return;
  ended_ = broken_ = gone_ = true;
  queued_ = {};
  if (waker_) waker_->drop();
  room_.notify_all();
}

void HttpExchange::end(std::vector<HttpField> trailers) {
  const std::lock_guard lock{mutex_};
  if (ended_) return;
  ended_ = true;
  trailers_ = std::move(trailers);
  tell();
}

void HttpExchange::abandon() {
  const std::lock_guard lock{mutex_};
  if (ended_) return;
  ended_ = true;
  if (streaming_) {
    broken_ = true;
  } else if (!answered_) {
    answered_ = true;
    head_ = HttpResponse{.status = 500, .body = "the request was not answered\n"};
  }
  tell();
}

bool HttpExchange::gone() const {
  const std::lock_guard lock{mutex_};
  return gone_;
}

HttpExchange::News HttpExchange::take() {
  const std::lock_guard lock{mutex_};
  News news;
  news.head = std::exchange(head_, std::nullopt);
  news.streaming = streaming_;
  news.bytes = std::exchange(queued_, {});
  news.ended = ended_;
  news.broken = broken_;
  if (ended_) news.trailers = std::move(trailers_);
  room_.notify_all();
  return news;
}

void HttpExchange::client_left() {
  const std::lock_guard lock{mutex_};
  gone_ = true;
  room_.notify_all();
}

void HttpExchange::close() {
  const std::lock_guard lock{mutex_};
  gone_ = true;
  waker_.reset();
  room_.notify_all();
}

HttpStream::~HttpStream() { exchange_->abandon(); }
bool HttpStream::write(std::string bytes) { return exchange_->write(std::move(bytes)); }
bool HttpStream::try_write(std::string bytes) { return exchange_->try_write(std::move(bytes)); }
bool HttpStream::wait_for_room(std::chrono::nanoseconds most) {
  return exchange_->wait_for_room(most);
}
void HttpStream::cut() { exchange_->cut(); }
bool HttpStream::gone() const { return exchange_->gone(); }
void HttpStream::end(std::vector<HttpField> trailers) { exchange_->end(std::move(trailers)); }

HttpReply::~HttpReply() {
  if (exchange_) exchange_->abandon();
}

void HttpReply::send(HttpResponse response) {
  CHECK(exchange_);
  std::exchange(exchange_, nullptr)->send(std::move(response));
}

std::shared_ptr<HttpStream> HttpReply::stream(HttpResponse head) {
  CHECK(exchange_);
  auto exchange = std::exchange(exchange_, nullptr);
  exchange->start(std::move(head));
  return std::make_shared<HttpStream>(std::move(exchange));
}

bool HttpReply::gone() const { return !exchange_ || exchange_->gone(); }

std::function<bool()> HttpReply::watch() const {
  CHECK(exchange_);
  return [exchange = exchange_] { return exchange->gone(); };
}

}  // namespace clrscope::net
