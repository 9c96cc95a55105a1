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

HttpClient::HttpClient(HttpUrl url, std::shared_ptr<TlsContext> tls)
    : url_(std::move(url)), tls_(std::move(tls)) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::ask(std::string_view method, const std::vector<HttpField>& fields,
                                     std::string_view body, const Deadline& deadline) {
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
  const bool reused = line_ != nullptr;
  bool answered = false;
  auto response = ask_once(request, method == "HEAD", deadline, answered);
  // A server may close a connection that rests just when we use it again.
  if (!response && reused && !answered && !deadline.passed() && !interrupted_)
    response = ask_once(request, method == "HEAD", deadline, answered);
  if (!response) {
    auto error = std::move(response).error();
    if (error.what.find(url_.address.text()) == std::string::npos)
      error.what = fmt::format("{}: {}", url_.text(), error.what);
    return fail(std::move(error));
  }
  return response;
}

Result<HttpResponse> HttpClient::ask_once(const std::string& request, bool to_head,
                                          const Deadline& deadline, bool& answered) {
  auto line = std::move(line_);
  if (!line) line = TRY(ClientLine::open(url_.tls, url_.address, tls_, interrupted_, deadline));
  // A server that refuses early may answer and close before it took everything.
  const auto sent = line->send(request, deadline);
  std::string buffer;
  for (;;) {
    HttpResponseParser parser{{.head = 64 << 10, .fields = 200, .body = answer_limit_}, to_head};
    while (parser.phase() != HttpPhase::kDone) {
      while (!buffer.empty() && parser.phase() != HttpPhase::kDone) {
        const auto used = parser.put(buffer);
        buffer.erase(0, used);
        if (parser.phase() == HttpPhase::kBad)
          return fail(parser.too_large() ? Errc::kTooLarge : Errc::kCorrupt,
                      "the answer is invalid: {}", parser.why());
        if (used == 0) break;
      }
      if (parser.phase() == HttpPhase::kDone) break;
      const auto more = line->receive(buffer, deadline);
      if (!more) return sent ? fail(Error{more.error()}) : fail(Error{sent.error()});
      if (!buffer.empty()) answered = true;
      if (*more) continue;
      if (!answered && !sent) return fail(Error{sent.error()});
      parser.put_end();
      if (parser.phase() == HttpPhase::kBad)
        return fail(Errc::kCorrupt, "{}", answered ? "the answer is truncated" : "no answer");
    }
    if (parser.response().status / 100 == 1) continue;  // "100 Continue" and kin announce another
    if (sent && parser.keep_alive() && buffer.empty()) line_ = std::move(line);
    return std::move(parser.response());
  }
}

}  // namespace clrscope::net
