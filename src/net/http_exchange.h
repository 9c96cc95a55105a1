// One request's way to its answer: between the thread that serves the connection and whoever
// answers. For http_server.cpp; others see HttpReply and HttpStream.
#pragma once

#include <condition_variable>
#include <mutex>

#include "net/http_server.h"

namespace clrscope::net {

// Whom to tell that something is there to be written. Called with the exchange's lock held.
class HttpWaker {
 public:
  virtual ~HttpWaker() = default;
  virtual void wake() = 0;
  virtual void drop() = 0;  // close the connection now
};

class HttpExchange {
 public:
  HttpExchange(std::shared_ptr<HttpWaker> waker, std::size_t buffer)
      : waker_(std::move(waker)), buffer_(buffer) {}

  // The answerer's side. Any thread.
  void send(HttpResponse response);
  void start(HttpResponse head);
  bool write(std::string bytes);
  bool try_write(std::string bytes);
  bool wait_for_room(std::chrono::nanoseconds most);
  void cut();
  void end(std::vector<HttpField> trailers);
  void abandon();  // answers 500, or breaks the stream
  bool gone() const;

  // The connection's side.
  struct News {
    std::optional<HttpResponse> head{};  // the first time
    bool streaming = false;
    std::string bytes{};  // of the stream
    bool ended = false;   // nothing follows
    bool broken = false;  // the stream was abandoned
    std::vector<HttpField> trailers{};
    bool any() const { return head || !bytes.empty() || ended || broken; }
  };
  News take();
  void client_left();  // nobody will read it
  void close();        // the same, and the waker is not called any more

 private:
  void tell();
  bool has_room() const { return gone_ || ended_ || queued_.size() < buffer_; }  // under mutex_

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::shared_ptr<HttpWaker> waker_;
  const std::size_t buffer_;
  std::optional<HttpResponse> head_;
  std::string queued_;
  std::vector<HttpField> trailers_;
  bool streaming_ = false, answered_ = false, ended_ = false, broken_ = false, gone_ = false;
};

}  // namespace clrscope::net
