// The body of an answer of the REST API, as it is made: a short one is held and sent whole, a long
// one leaves in pieces, so that only what is not sent yet is in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/shape.h"
#include "net/http_message.h"

namespace clrscope::fleet {

class RestBody {
 public:
  // Takes a piece, with the head of the answer; may wait. After a failure it is not called again.
  using Send = std::function<Result<>(const net::HttpResponse& head, std::string piece)>;
  // Without `send` all of it is held.
  explicit RestBody(Send send = {})
      : send_(std::move(send)), json_([this](std::string& text) { send_all_of(text); }) {}
  RestBody(const RestBody&) = delete;
  RestBody& operator=(const RestBody&) = delete;

  void begin(net::HttpResponse head) { head_ = std::move(head); }
  // Either JSON, value by value or at once …
  JsonWriter& json() { return json_; }
  template <class T>
  Result<> value(const T& value) {
    value_shape<T>().write(json_, &value);
    return sent_;
  }
  // … or bytes.
  Result<> bytes(std::string_view bytes);

  // Fails when the client does not take it: who makes the body stops.
  const Result<>& sent() const { return sent_; }
  bool in_pieces() const { return in_pieces_; }
  // The head, with what was not sent.
  net::HttpResponse take() &&;

 private:
  static constexpr std::size_t kPiece = 64 << 10;

  void send_all_of(std::string& text);

  const Send send_;
  net::HttpResponse head_{};
  JsonWriter json_;
  bool in_pieces_ = false;
  Result<> sent_{};
};

}  // namespace clrscope::fleet
