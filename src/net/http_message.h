// What an HTTP request and its answer are, for both sides. Data only; no sockets, no threads.
//
// Field names compare without case. A path is already decoded; the query is taken apart on demand.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clrscope::net {

struct HttpField {
  std::string name;
  std::string value;
};

// The first of that name.
std::optional<std::string_view> find_field(const std::vector<HttpField>& fields,
                                           std::string_view name);

// Who asks.
struct HttpPeer {
  std::string address{};       // "127.0.0.1:41234"; of a unix socket: "unix"
  std::optional<uid_t> uid{};  // of a unix socket's other end
  bool tls = false;
};

struct HttpRequest {
  std::string method{};
  std::string target{};  // as it was sent: "/trace?pid=7"
  std::string path{};    // decoded: "/trace"
  std::string query{};   // not decoded: "pid=7"
  std::vector<HttpField> fields{};
  std::string body{};
  HttpPeer peer{};
  bool http11 = true;
  bool keep_alive = true;
  std::shared_ptr<void> admitted{};  // what HttpServerSetting::admit made of the head

  std::optional<std::string_view> field(std::string_view name) const {
    return find_field(fields, name);
  }
  // Of the query, decoded; the first of that name.
  std::optional<std::string> parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";  // empty: no Content-Type
  std::vector<HttpField> fields{};
  std::string body{};
  std::shared_ptr<const std::string> shared_body{};  // instead of body: not copied
};

// "Not Found"; of a status without a name: "Unknown".
std::string_view status_text(int status);

// %41 and, in a query, + are undone. Nothing when a % is followed by something else, or by 00.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

// How a body ends: by its length, by chunks, or with the connection.
enum class HttpFraming : std::uint8_t { kLength, kChunked, kClose };

// The lines before the body, with the empty one. Whatever could end a line inside a field is a
// space.
std::string response_head(const HttpResponse& response, HttpFraming framing, std::uint64_t length,
                          bool keep_alive, std::string_view date);

// "Sun, 15 Nov 2026 09:16:00 GMT"
std::string http_date(std::int64_t unix_seconds);

// How much an Accept field likes a type such as "text/html": 0 (not at all) to 1. No field likes
// all.
double accept_quality(std::optional<std::string_view> accept, std::string_view type);

}  // namespace clrscope::net
