#include "net/grpc_client.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.h"
#include "net/client_line.h"

namespace clrscope::net {
namespace {

constexpr std::size_t kMostHeaders = 64 << 10;  // bytes of names and values in an answer
constexpr std::size_t kMostBody = 1 << 20;
constexpr std::size_t kFrameHead = 5;  // of a gRPC message: compressed or not, length

struct FreeSession {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};

// What a server said so far to our one call.
struct Exchange {
  std::int32_t stream = -1;
  std::string out{};  // the message, framed
  std::size_t sent = 0;
  int http_status = 0;
  std::string type{};
  std::optional<std::string> status{};
  std::string message{}, details{};
  std::size_t header_bytes = 0;
  std::string body{};
  bool closed = false;
  std::uint32_t error = 0;  // of HTTP/2, when it closed
  std::string trouble{};    // a limit that the peer passed
};

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
              std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
              std::uint8_t, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (frame->hd.stream_id != exchange.stream) return 0;
  exchange.header_bytes += name_size + value_size;
  if (exchange.header_bytes > kMostHeaders) {
    exchange.trouble = fmt::format("the answer's headers have more than {} bytes", kMostHeaders);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  const auto key = view(name, name_size);
  const std::string text{view(value, value_size)};
  if (key == ":status") exchange.http_status = static_cast<int>(parse_number(text).value_or(0));
  if (key == "content-type") exchange.type = text;
  if (key == "grpc-status") exchange.status = text;
  if (key == "grpc-message") exchange.message = text;
  if (key == "grpc-status-details-bin") exchange.details = text;
  return 0;
}

int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
            std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (stream != exchange.stream) return 0;
  if (exchange.body.size() + size > kMostBody) {
    exchange.trouble = fmt::format("the answer has more than {} bytes", kMostBody);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  exchange.body += view(bytes, size);
  return 0;
}

int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (stream != exchange.stream) return 0;
  exchange.closed = true;
  exchange.error = error;
  return 0;
}

ssize_t give_message(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t room,
                     std::uint32_t* flags, nghttp2_data_source*, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const auto size = std::min(room, exchange.out.size() - exchange.sent);
  std::memcpy(into, exchange.out.data() + exchange.sent, size);
  exchange.sent += size;
  if (exchange.sent == exchange.out.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(size);
}

std::string framed(std::string_view message) {
  std::string out(1, '\0');
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(message.size() >> shift & 0xff);
  return out.append(message);
}

// The one message of an answer.
Result<std::string> unframed(const std::string& body) {
  if (body.empty()) return std::string{};
  std::size_t size = 0;
  if (body.size() < kFrameHead) return fail(Errc::kCorrupt, "the answer's message is truncated");
  for (std::size_t i = 1; i < kFrameHead; ++i)
    size = size << 8 | static_cast<std::uint8_t>(body[i]);
  if (body[0] != 0) return fail(Errc::kCorrupt, "the answer's message is compressed");
  if (body.size() != kFrameHead + size)
    return fail(Errc::kCorrupt, "the answer is not one message of {} bytes", size);
  return body.substr(kFrameHead);
}

// grpc-message encodes what is not printable as in URLs.
std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    out += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    if (low >= 0) i += 2;
  }
  return out;
}

// For answers of proxies and of servers that do not know gRPC, as gRPC itself defines it.
GrpcStatus of_http(int status) {
  switch (status) {
    case 400:
      return GrpcStatus::kInternal;
    case 401:
      return GrpcStatus::kUnauthenticated;
    case 403:
      return GrpcStatus::kPermissionDenied;
    case 404:
      return GrpcStatus::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return GrpcStatus::kUnavailable;
    default:
      return GrpcStatus::kUnknown;
  }
}

Result<GrpcAnswer> answer_of(const Exchange& exchange) {
  GrpcAnswer answer;
  if (exchange.status) {
    const auto number = parse_number(*exchange.status);
    answer.status =
        number && *number < 1000 ? static_cast<GrpcStatus>(*number) : GrpcStatus::kUnknown;
    answer.message = percent_decoded(exchange.message);
    answer.details = exchange.details;
  } else if (exchange.error == NGHTTP2_REFUSED_STREAM) {
    answer.status = GrpcStatus::kUnavailable;
    answer.message = "the server refused the stream";
  } else if (exchange.http_status != 0 && exchange.http_status != 200) {
    answer.status = of_http(exchange.http_status);
    answer.message = fmt::format("HTTP {}", exchange.http_status);
  } else if (exchange.error != 0) {
    return fail(Errc::kSystem, "the server reset the call: {}",
                nghttp2_http2_strerror(exchange.error));
  } else if (exchange.http_status == 200 && !exchange.type.starts_with("application/grpc")) {
    return fail(Errc::kCorrupt, "the answer is not gRPC but '{}'", exchange.type);
  } else {
    return fail(Errc::kCorrupt, "the answer has no grpc-status");
  }
  if (answer.status == GrpcStatus::kOk) answer.body = TRY(unframed(exchange.body));
  return answer;
}

// HTTP/2 knows no other names.
std::string lower(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

// Ours to say, or not for HTTP/2.
bool is_forbidden(std::string_view name) {
  constexpr std::string_view kOurs[] = {
      "content-type",      "te",        "host", "connection", "content-length",
      "transfer-encoding", "user-agent"};
  return name.starts_with(':') || name.starts_with("grpc-") || std::ranges::count(kOurs, name) > 0;
}

}  // namespace

std::string status_text(GrpcStatus status) {
  constexpr std::string_view kNames[] = {"OK",
                                         "CANCELLED",
                                         "UNKNOWN",
                                         "INVALID_ARGUMENT",
                                         "DEADLINE_EXCEEDED",
                                         "NOT_FOUND",
                                         "ALREADY_EXISTS",
                                         "PERMISSION_DENIED",
                                         "RESOURCE_EXHAUSTED",
                                         "FAILED_PRECONDITION",
                                         "ABORTED",
                                         "OUT_OF_RANGE",
                                         "UNIMPLEMENTED",
                                         "INTERNAL",
                                         "UNAVAILABLE",
                                         "DATA_LOSS",
                                         "UNAUTHENTICATED"};
  const auto number = static_cast<std::size_t>(status);
  return number < std::size(kNames) ? std::string{kNames[number]}
                                    : fmt::format("status {}", number);
}

std::string GrpcTarget::text() const {
  return fmt::format("{}://{}", tls ? "grpcs" : "grpc", address.text());
}

Result<GrpcTarget> parse_grpc_target(std::string_view text) {
  GrpcTarget target;
  const auto colon = text.find("://");
  auto rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 3);
  target.tls = text.starts_with("grpcs://");
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/?@") != std::string_view::npos)
    return fail(Errc::kUsage, "a gRPC address is a host and a port, without a path")
        .hint("grpc://HOST:4317, or grpcs:// for TLS");
  const auto address = parse_address(rest, "4317");
  if (!address || !address->path.empty())
    return fail(Errc::kUsage, "'{}' has no host name", text).hint("grpc://HOST:4317");
  target.address = *address;
  return target;
}

// One connection and the state of HTTP/2 on it.
class GrpcClient::Connection {
 public:
  explicit Connection(std::unique_ptr<ClientLine> line) : line_(std::move(line)) {
    nghttp2_session_callbacks* raw = nullptr;
    CHECK(nghttp2_session_callbacks_new(&raw) == 0);
    const std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks> callbacks{raw};
    nghttp2_session_callbacks_set_on_header_callback(raw, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(raw, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(raw, on_close);
    nghttp2_session* session = nullptr;
    CHECK(nghttp2_session_client_new(&session, raw, &exchange_) == 0);
    session_.reset(session);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHeaders},
    };
    CHECK(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  }

  Result<> begin(std::span<const nghttp2_nv> head, std::string_view message) {
    exchange_ = {.out = framed(message)};
    nghttp2_data_provider source{.source = {}, .read_callback = give_message};
    exchange_.stream =
        nghttp2_submit_request(session_.get(), nullptr, head.data(), head.size(), &source, nullptr);
    if (exchange_.stream < 0) return trouble(exchange_.stream);
    return {};
  }

  // Until the answer is complete. Everything that the peer sends meanwhile is limited by the
  // deadline, as the library limits what one frame or many may cost.
  Result<> run(const Deadline& deadline) {
    std::string in;
    while (!exchange_.closed) {
      TRY(flush(deadline));
      if (!nghttp2_session_want_read(session_.get()))
        return fail(Errc::kSystem, "the peer ended the connection");
      in.clear();
      if (!TRY(line_->receive(in, deadline))) return fail(Errc::kSystem, "the peer closed");
      const auto used = nghttp2_session_mem_recv(
          session_.get(), reinterpret_cast<const std::uint8_t*>(in.data()), in.size());
      if (used < 0) return trouble(static_cast<int>(used));
      if (deadline.passed()) return fail(Errc::kTimeout, "no answer in time");
    }
    (void)flush(deadline);  // acknowledgements: the next call sees what became of the connection
    return {};
  }

  bool usable() const {
    return nghttp2_session_want_read(session_.get()) != 0 &&
           nghttp2_session_check_request_allowed(session_.get()) != 0;
  }
  const Exchange& exchange() const { return exchange_; }

 private:
  Result<> flush(const Deadline& deadline) {
    for (;;) {
      const std::uint8_t* bytes = nullptr;
      const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size < 0) return trouble(static_cast<int>(size));
      if (size == 0) return {};
      TRY(line_->send(view(bytes, static_cast<std::size_t>(size)), deadline));
    }
  }

  Result<> trouble(int code) const {
    if (!exchange_.trouble.empty()) return fail(Errc::kCorrupt, "{}", exchange_.trouble);
    return fail(Errc::kCorrupt, "the answer is not HTTP/2: {}", nghttp2_strerror(code));
  }

  std::unique_ptr<ClientLine> line_;
  Exchange exchange_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
};

GrpcClient::GrpcClient(GrpcTarget target, std::shared_ptr<TlsContext> tls)
    : target_(std::move(target)), tls_(std::move(tls)) {}
GrpcClient::~GrpcClient() = default;

Result<GrpcAnswer> GrpcClient::call(const std::string& method, const std::vector<HttpField>& fields,
                                    std::string_view message, const Deadline& deadline) {
  const bool reused = connection_ != nullptr;
  Attempt attempt;
  auto answer = call_once(method, fields, message, deadline, attempt);
  // A server may close a connection that rests just when we use it again.
  if (!answer && reused && !attempt.answered && !deadline.passed() && !interrupted_)
    answer = call_once(method, fields, message, deadline, attempt);
  if (answer) return answer;
  auto error = std::move(answer).error();
  if (error.what.find(target_.address.text()) == std::string::npos)
    error.what = fmt::format("{}: {}", target_.text(), error.what);
  return fail(std::move(error));
}

Result<GrpcAnswer> GrpcClient::call_once(const std::string& method,
                                         const std::vector<HttpField>& fields,
                                         std::string_view message, const Deadline& deadline,
                                         Attempt& attempt) {
  std::vector<HttpField> head{
      {":method", "POST"},
      {":scheme", target_.tls ? "https" : "http"},
      {":path", method},
      {":authority", target_.address.text()},
      {"te", "trailers"},
      {"content-type", "application/grpc"},
      {"user-agent", "clrscope"},
      {"grpc-timeout",
       fmt::format("{}m", std::clamp<std::int64_t>(deadline.left().count(), 1, 99'999'999))},
  };
  for (const auto& field : fields) {
    auto name = lower(field.name);
    if (!is_forbidden(name)) head.push_back({std::move(name), field.value});
  }
  std::vector<nghttp2_nv> pairs;
  for (auto& [name, value] : head) {
    const auto* key = reinterpret_cast<const std::uint8_t*>(name.data());
    const auto* text = reinterpret_cast<const std::uint8_t*>(value.data());
    if (nghttp2_check_header_value(text, value.size()) == 0)
      return fail(Errc::kUsage, "a header must be one line: {}", name);
    pairs.push_back({const_cast<std::uint8_t*>(key), const_cast<std::uint8_t*>(text), name.size(),
                     value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  auto connection = std::move(connection_);
  if (!connection)
    connection = std::make_unique<Connection>(
        TRY(ClientLine::open(target_.tls, target_.address, tls_, interrupted_, deadline, "h2")));
  TRY(connection->begin(pairs, message));
  const auto done = connection->run(deadline);
  const auto& exchange = connection->exchange();
  attempt.answered = exchange.http_status != 0;
  if (!done) return fail(Error{done.error()});
  auto answer = answer_of(exchange);
  if (connection->usable()) connection_ = std::move(connection);
  return answer;
}

}  // namespace clrscope::net
