#include "net/http_client.h"

#include <fmt/format.h>

#include "net/http_parser.h"

namespace clrscope::net {

std::string HttpUrl::text() const {
  const auto query = path.find('?');
  return fmt::format("{}://{}{}", tls ? "https" : "http", address.text(), path.substr(0, query));
}

Result<HttpUrl> parse_url(std::string_view text) {
  HttpUrl url;
  auto rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return fail(Errc::kUsage, "'{}' is not a URL", text).hint("http://HOST:PORT/PATH, or https://");
  }
  const auto slash = rest.find_first_of("/?");
  const auto host = rest.substr(0, slash);
  if (host.find('@') != std::string_view::npos)
    return fail(Errc::kUsage, "a user name or password in a URL is not supported")
        .hint("send it as a header");
  const auto address = parse_address(host, url.tls ? "443" : "80");
  if (!address || !address->path.empty())
    return fail(Errc::kUsage, "'{}' has no host name", text).hint("http://HOST:PORT/PATH");
  url.address = *address;
  if (slash != std::string_view::npos) url.path = rest.substr(slash);
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  for (const char c : url.path)
    if (c <= ' ' || c == 0x7f)
      return fail(Errc::kUsage, "the path of '{}' has a character that is not allowed in a URL",
                  text);
  return url;
}

struct HttpClient::Reading {
  Reading(std::unique_ptr<ClientLine> over, std::uint64_t limit, bool head_only)
      : line(std::move(over)), body_limit(limit), to_head(head_only) {
    expect_head();
  }
  void expect_head() {
    parser.emplace(HttpLimits{.head = 64 << 10, .fields = 200, .body = body_limit}, to_head);
    parser->body_to([this](std::string_view bytes) { piece += bytes; });
  }

  std::unique_ptr<ClientLine> line;
  const std::uint64_t body_limit;
  const bool to_head;
  Result<> sent{};
  bool answered = false;  // a byte has come
  std::string buffer{};   // came and not parsed yet
  std::string piece{};    // of the body; not taken yet
  std::optional<HttpResponseParser> parser{};
};

HttpClient::HttpClient(HttpUrl url, std::shared_ptr<TlsContext> tls)
    : url_(std::move(url)), tls_(std::move(tls)) {}
HttpClient::~HttpClient() = default;

Failure HttpClient::failed(Error error) {
  reading_.reset();
  if (error.what.find(url_.address.text()) == std::string::npos)
    error.what = fmt::format("{}: {}", url_.text(), error.what);
  return fail(std::move(error));
}

Result<HttpResponse> HttpClient::ask(std::string_view method, const std::vector<HttpField>& fields,
                                     std::string_view body, const Deadline& deadline) {
  auto response = TRY(begin(method, fields, body, deadline));
  while (TRY(more(response.body, deadline))) {
  }
  return response;
}

Result<HttpResponse> HttpClient::begin(std::string_view method,
                                       const std::vector<HttpField>& fields, std::string_view body,
                                       const Deadline& deadline) {
  auto request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", method,
                             url_.path, url_.address.text(), body.size());
  for (const auto& field : fields) {
    const auto bad = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
    for (const auto& part : {field.name, field.value})
      for (const char c : part)
        if (bad(c)) return fail(Errc::kUsage, "a header must be one line: {}", field.name);
    request += fmt::format("{}: {}\r\n", field.name, field.value);
  }
  request += "\r\n";
  request += body;
  reading_.reset();
  const bool reused = line_ != nullptr;
  auto begun = begin_once(request, method == "HEAD", deadline);
  // A server may close a connection that rests just when we use it again.
  if (!begun && reused && !(reading_ && reading_->answered) && !deadline.passed() && !interrupted_)
    begun = begin_once(request, method == "HEAD", deadline);
  if (!begun) return failed(std::move(begun).error());
  return std::move(reading_->parser->response());
}

Result<> HttpClient::begin_once(const std::string& request, bool to_head,
                                const Deadline& deadline) {
  auto line = std::move(line_);
  if (!line) line = TRY(ClientLine::open(url_.tls, url_.address, tls_, interrupted_, deadline));
  reading_ = std::make_unique<Reading>(std::move(line), answer_limit_, to_head);
  // A server that refuses early may answer and close before it took everything.
  reading_->sent = reading_->line->send(request, deadline);
  for (;;) {
    while (reading_->parser->phase() == HttpPhase::kHead) TRY(advance(deadline));
    if (reading_->parser->response().status / 100 != 1) return {};
    reading_->expect_head();  // "100 Continue" and kin announce another
  }
}

// Parses what came; waits for more if that was all.
Result<> HttpClient::advance(const Deadline& deadline) {
  auto& at = *reading_;
  if (!at.buffer.empty()) {
    const auto used = at.parser->put(at.buffer);
    at.buffer.erase(0, used);
    if (at.parser->phase() == HttpPhase::kBad)
      return fail(at.parser->too_large() ? Errc::kTooLarge : Errc::kCorrupt,
                  "the answer is invalid: {}", at.parser->why());
    if (used > 0) return {};
  }
  const auto more = at.line->receive(at.buffer, deadline);
  if (!more) return at.sent ? fail(Error{more.error()}) : fail(Error{at.sent.error()});
  if (!at.buffer.empty()) at.answered = true;
  if (*more) return {};
  if (!at.answered && !at.sent) return fail(Error{at.sent.error()});
  at.parser->put_end();
  if (at.parser->phase() == HttpPhase::kBad)
    return fail(Errc::kCorrupt, "{}", at.answered ? "the answer is truncated" : "no answer");
  return {};
}

Result<bool> HttpClient::more(std::string& into, const Deadline& deadline) {
  if (!reading_) return false;
  auto& at = *reading_;
  while (at.piece.empty() && at.parser->phase() != HttpPhase::kDone)
    if (auto done = advance(deadline); !done) return failed(std::move(done).error());
  if (!at.piece.empty()) {
    into += at.piece;
    at.piece.clear();
    return true;
  }
  if (at.sent && at.parser->keep_alive() && at.buffer.empty()) line_ = std::move(at.line);
  reading_.reset();
  return false;
}

}  // namespace clrscope::net
