// Reads HTTP/1.0 and 1.1 messages out of bytes as they come; does no I/O. Hostile input: everything
// is limited, what is ambiguous is refused.
//
// put() takes what it can use; the caller keeps the rest and offers it again with what follows. It
// stops after the head, so that the caller can look before a body is taken. One parser, one
// message. The grammar is Beast's; limits and refusals are ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace clrscope::net {

enum class HttpPhase : std::uint8_t { kHead, kBody, kDone, kBad };

struct HttpLimits {
  std::size_t head = 16 << 10;   // bytes, all fields together
  std::size_t fields = 100;      // how many
  std::uint64_t body = 1 << 20;  // bytes
};

class HttpRequestParser {
 public:
  explicit HttpRequestParser(const HttpLimits& limits);
  ~HttpRequestParser();
  HttpRequestParser(HttpRequestParser&&) noexcept;

  std::size_t put(std::string_view bytes);

  HttpPhase phase() const;
  bool started() const;  // a byte has come
  // Of kBad: 400, 413, 431, 501 or 505, and why.
  int status() const;
  std::string_view why() const;

  // Whole when kDone; its head from kBody on.
  HttpRequest& request();
  // The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  void limit_body(std::uint64_t bytes);
  // The limit is known: a request that announces a longer body is refused before it comes.
  void begin_body();
  // The body goes there piece by piece instead of into the request; false refuses it (413).
  void body_to(std::function<bool(std::string_view)> taker);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class HttpResponseParser {
 public:
  // `to_head`: the answer to a HEAD request has no body, whatever it says.
  explicit HttpResponseParser(const HttpLimits& limits, bool to_head = false);
  ~HttpResponseParser();

  std::size_t put(std::string_view bytes);
  void put_end();  // the peer closed: that ends a body without length, and damages others
  // The body goes there piece by piece instead of into the response.
  void body_to(std::function<void(std::string_view)> taker);

  HttpPhase phase() const;
  std::string_view why() const;
  bool too_large() const;  // kBad, because of a limit
  HttpResponse& response();
  bool keep_alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::net
