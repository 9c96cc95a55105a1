#include "net/http_parser.h"

#include <boost/beast/http/basic_parser.hpp>

#include "base/text.h"

namespace clrscope::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Text = beast::string_view;

std::string_view view(Text text) { return {text.data(), text.size()}; }

// Beast's grammar; what it finds goes into plain values.
template <bool IsRequest>
class Grammar final : public http::basic_parser<IsRequest> {
 public:
  explicit Grammar(const HttpLimits& limits) : limits_(limits) {
    this->body_limit(boost::none);
    this->header_limit(static_cast<std::uint32_t>(limits.head));
    this->skip(false);
  }

  HttpPhase phase = HttpPhase::kHead;
  int status = 0;
  std::string why{};
  std::string method{}, target{};
  int version = 11;
  int code = 0;
  std::vector<HttpField> fields{};
  std::string body{};
  std::uint64_t body_size = 0;
  std::uint64_t body_limit_bytes = 0;
  std::function<bool(std::string_view)> taker{};
  bool head_done = false;

  void refuse(int with, std::string_view because) {
    if (phase == HttpPhase::kBad) return;
    phase = HttpPhase::kBad;
    status = with;
    why = because;
  }

  std::size_t put_some(std::string_view bytes) {
    std::size_t used = 0;
    while (phase != HttpPhase::kBad && phase != HttpPhase::kDone && used < bytes.size()) {
      beast::error_code error;
      const auto rest = bytes.substr(used);
      // No chunked message ends in fewer bytes, and Beast's checks want to see as many at its end.
      if (head_done && this->chunked() && rest.size() < kShortestEnd) break;
      const auto before = phase;
      const bool in_head = !head_done;
      const auto taken = this->put(boost::asio::const_buffer{rest.data(), rest.size()}, error);
      used += taken;
      if (in_head) head_bytes_ += taken;
      if (error && error != http::error::need_more) refuse_for(error);
      // Beast limits what it is shown at a time: a head that comes line by line would never end.
      if (in_head && head_bytes_ + (head_done ? 0 : bytes.size() - used) > limits_.head)
        refuse(431, "the head is longer than the limit");
      // What waits without being taken is a line: of the head, a chunk's length, a trailer.
      if (error == http::error::need_more && bytes.size() - used > limits_.head)
        refuse(head_done ? 400 : 431, "a line is longer than the limit");
      if (phase == HttpPhase::kBad) return used;
      if (this->is_done())
        phase = HttpPhase::kDone;
      else if (head_done)
        phase = HttpPhase::kBody;
      if (error == http::error::need_more || phase != before) break;
    }
    return used;
  }

 private:
  static constexpr std::size_t kShortestEnd = 5;  // "0\r\n\r\n"

  void refuse_for(const beast::error_code& error) {
    if (error == http::error::header_limit)
      refuse(431, "the head is longer than the limit");
    else if (error == http::error::bad_version)
      refuse(505, "only HTTP/1.0 and HTTP/1.1 are supported");
    else
      refuse(400, error.message());
  }

  void on_request_impl(http::verb, Text name, Text uri, int spoken, beast::error_code&) override {
    version = spoken;
    method = view(name);
    target = view(uri);
  }
  void on_response_impl(int number, Text, int, beast::error_code&) override { code = number; }
  void on_field_impl(http::field, Text name, Text value, beast::error_code& error) override {
    if (head_done) return;  // a trailer: it must not pass for a field
    if (fields.size() >= limits_.fields) {
      refuse(431, "more fields than the limit");
      error = http::error::header_limit;
      return;
    }
    fields.push_back({std::string{view(name)}, std::string{view(value)}});
  }
  void on_header_impl(beast::error_code&) override { head_done = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(Text text, beast::error_code& error) override {
    body_size += text.size();
    if (body_size > body_limit_bytes) {
      refuse(413, "the body is longer than the limit");
      error = http::error::body_limit;
    } else if (!taker) {
      body.append(text.data(), text.size());
    } else if (!taker(view(text))) {
      refuse(413, "the body was refused");
      error = http::error::body_limit;
    }
    return text.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text text, beast::error_code& error) override {
    return on_body_impl(text, error);
  }
  void on_finish_impl(beast::error_code&) override {}

  const HttpLimits limits_;
  std::size_t head_bytes_ = 0;
};

std::size_t count_of(const std::vector<HttpField>& fields, std::string_view name) {
  std::size_t count = 0;
  for (const auto& field : fields) count += equal_ignoring_case(field.name, name);
  return count;
}

}  // namespace

struct HttpRequestParser::Impl {
  explicit Impl(const HttpLimits& limits) : grammar(limits) {
    grammar.body_limit_bytes = limits.body;
  }

  void finish_head() {
    request.method = std::move(grammar.method);
    request.target = std::move(grammar.target);
    request.fields = std::move(grammar.fields);
    request.http11 = grammar.version >= 11;
    request.keep_alive = grammar.keep_alive();
    judge_framing();
    take_target();
  }

  void begin_body() {
    if (grammar.phase != HttpPhase::kBody) return;
    const auto length = grammar.content_length();
    if (length && *length > grammar.body_limit_bytes)
      grammar.refuse(413, "the body is longer than the limit");
  }

  // Two readers must not see different messages in the same bytes.
  void judge_framing() {
    const auto encodings = count_of(request.fields, "Transfer-Encoding");
    const auto lengths = count_of(request.fields, "Content-Length");
    const auto hosts = count_of(request.fields, "Host");
    if (encodings > 0 && lengths > 0)
      return grammar.refuse(400, "both Content-Length and Transfer-Encoding");
    if (lengths > 1) return grammar.refuse(400, "more than one Content-Length");
    if (encodings > 1 ||
        (encodings == 1 && !equal_ignoring_case(*request.field("Transfer-Encoding"), "chunked")))
      return grammar.refuse(501, "a Transfer-Encoding other than chunked");
    if (hosts > 1 || (hosts == 0 && request.http11)) grammar.refuse(400, "not exactly one Host");
  }

  void take_target() {
    std::string_view rest = request.target;
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!rest.starts_with(scheme)) continue;
      const auto slash = rest.find('/', scheme.size());
      rest = slash == std::string_view::npos ? std::string_view{"/"} : rest.substr(slash);
    }
    if (!rest.starts_with('/') && rest != "*") return grammar.refuse(400, "no path");
    const auto mark = rest.find('?');
    auto path = percent_decode(rest.substr(0, mark), false);
    if (!path) return grammar.refuse(400, "the path has an invalid % sequence");
    request.path = std::move(*path);
    if (mark != std::string_view::npos) request.query = rest.substr(mark + 1);
    if (const auto hash = request.query.find('#'); hash != std::string::npos)
      request.query.resize(hash);
  }

  Grammar<true> grammar;
  HttpRequest request{};
  bool looked = false;
  bool any = false;
};

HttpRequestParser::HttpRequestParser(const HttpLimits& limits)
    : impl_(std::make_unique<Impl>(limits)) {}
HttpRequestParser::~HttpRequestParser() = default;
HttpRequestParser::HttpRequestParser(HttpRequestParser&&) noexcept = default;

std::size_t HttpRequestParser::put(std::string_view bytes) {
  auto& impl = *impl_;
  std::size_t skipped = 0;
  // An empty line may precede a request.
  if (!impl.any)
    while (bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
  bytes.remove_prefix(skipped);
  if (bytes.empty() || (!impl.any && bytes == "\r")) return skipped;
  impl.any = true;
  const auto used = impl.grammar.put_some(bytes);
  if (impl.grammar.head_done && !impl.looked) {
    impl.looked = true;
    impl.finish_head();
  }
  if (impl.grammar.phase == HttpPhase::kDone) impl.request.body = std::move(impl.grammar.body);
  return skipped + used;
}

HttpPhase HttpRequestParser::phase() const { return impl_->grammar.phase; }
bool HttpRequestParser::started() const { return impl_->any; }
int HttpRequestParser::status() const { return impl_->grammar.status; }
std::string_view HttpRequestParser::why() const { return impl_->grammar.why; }
HttpRequest& HttpRequestParser::request() { return impl_->request; }

bool HttpRequestParser::expects_continue() const {
  const auto expect = impl_->request.field("Expect");
  return impl_->request.http11 && expect && equal_ignoring_case(*expect, "100-continue");
}

void HttpRequestParser::limit_body(std::uint64_t bytes) { impl_->grammar.body_limit_bytes = bytes; }

void HttpRequestParser::begin_body() { impl_->begin_body(); }

void HttpRequestParser::body_to(std::function<bool(std::string_view)> taker) {
  impl_->grammar.taker = std::move(taker);
}

struct HttpResponseParser::Impl {
  explicit Impl(const HttpLimits& limits) : grammar(limits) {
    grammar.body_limit_bytes = limits.body;
  }
  Grammar<false> grammar;
  HttpResponse response{};
};

HttpResponseParser::HttpResponseParser(const HttpLimits& limits, bool to_head)
    : impl_(std::make_unique<Impl>(limits)) {
  impl_->grammar.skip(to_head);
}
HttpResponseParser::~HttpResponseParser() = default;

std::size_t HttpResponseParser::put(std::string_view bytes) {
  auto& grammar = impl_->grammar;
  const auto used = grammar.put_some(bytes);
  if (grammar.phase != HttpPhase::kHead && impl_->response.fields.empty()) {
    impl_->response.status = grammar.code;
    impl_->response.fields = std::move(grammar.fields);
    if (const auto type = find_field(impl_->response.fields, "Content-Type"))
      impl_->response.type = *type;
    else
      impl_->response.type.clear();
  }
  if (grammar.phase == HttpPhase::kDone) impl_->response.body = std::move(grammar.body);
  return used;
}

void HttpResponseParser::put_end() {
  auto& grammar = impl_->grammar;
  if (grammar.phase == HttpPhase::kDone || grammar.phase == HttpPhase::kBad) return;
  beast::error_code error;
  if (grammar.got_some()) grammar.put_eof(error);
  if (error || !grammar.got_some()) {
    grammar.refuse(400, "the answer ends too early");
  } else {
    grammar.phase = HttpPhase::kDone;
    impl_->response.body = std::move(grammar.body);
  }
}

void HttpResponseParser::body_to(std::function<void(std::string_view)> taker) {
  impl_->grammar.taker = [taker = std::move(taker)](std::string_view piece) {
    taker(piece);
    return true;
  };
}

HttpPhase HttpResponseParser::phase() const { return impl_->grammar.phase; }
std::string_view HttpResponseParser::why() const { return impl_->grammar.why; }
bool HttpResponseParser::too_large() const { return impl_->grammar.status == 413; }
HttpResponse& HttpResponseParser::response() { return impl_->response; }
bool HttpResponseParser::keep_alive() const { return impl_->grammar.keep_alive(); }

}  // namespace clrscope::net
