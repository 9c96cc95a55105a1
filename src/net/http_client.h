// Asks an HTTP server, http or https, and waits for the answer: for a thread that may wait.
//
// ask() gives the whole answer; begin() and more() give it piece by piece, with no more memory than
// a piece needs. Keeps its connection between requests. One client belongs to one thread. Redirects
// are not followed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/client_line.h"
#include "net/http_message.h"
#include "net/socket.h"
#include "net/tls.h"

namespace clrscope::net {

struct HttpUrl {
  bool tls = false;
  Address address{};
  std::string path = "/";  // with the query

  std::string text() const;  // without what could be a password
};

// "https://host:4318/v1/metrics", "http://[::1]:4318"; a port that is not named is 80 or 443.
Result<HttpUrl> parse_url(std::string_view text);

class HttpClient {
 public:
  // `tls`: for https; trusts the system's authorities by default.
  explicit HttpClient(HttpUrl url, std::shared_ptr<TlsContext> tls = {});
  ~HttpClient();

  // To the URL's path. Any answer is a success here, whatever its status. Its body is limited to a
  // megabyte by default; a longer one is an error kTooLarge.
  Result<HttpResponse> ask(std::string_view method, const std::vector<HttpField>& fields,
                           std::string_view body, const Deadline& deadline);
  // The same until the head is there. Then more() appends what came of the body, 16 KB or so;
  // false: the body was whole before. What is not read is given up by the next begin(), with the
  // connection.
  Result<HttpResponse> begin(std::string_view method, const std::vector<HttpField>& fields,
                             std::string_view body, const Deadline& deadline);
  Result<bool> more(std::string& into, const Deadline& deadline);
  const HttpUrl& url() const { return url_; }
  void set_path(std::string path) { url_.path = std::move(path); }  // with the query
  void limit_answer(std::uint64_t bytes) { answer_limit_ = bytes; }
  // Any thread: an answer that is waited for is given up within a fifth of a second; so are those
  // asked for later.
  void interrupt() { interrupted_ = true; }

 private:
  struct Reading;  // an answer that comes
  Result<> begin_once(const std::string& request, bool to_head, const Deadline& deadline);
  Result<> advance(const Deadline& deadline);
  Failure failed(Error error);

  HttpUrl url_;
  std::shared_ptr<TlsContext> tls_;
  std::atomic<bool> interrupted_{false};
  std::uint64_t answer_limit_ = 1 << 20;
  std::unique_ptr<ClientLine> line_;  // rests
  std::unique_ptr<Reading> reading_;
};

}  // namespace clrscope::net
