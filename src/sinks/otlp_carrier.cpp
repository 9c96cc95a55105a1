#include "sinks/otlp_carrier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/io.h"
#include "base/printable.h"
#include "base/text.h"
#include "sinks/otlp_message.h"

namespace clrscope::sinks {
namespace {

constexpr auto kLongestWait = std::chrono::minutes{5};  // that a collector may ask for

// What the ways to a collector share: a message is taken, comes later, or is refused for good.
class OtlpCarrier : public Carrier {
 public:
  OtlpCarrier(std::vector<net::HttpField> fields, std::chrono::nanoseconds timeout,
              std::shared_ptr<Guarded<OtlpFate>> fate)
      : fields_(std::move(fields)), timeout_(timeout), fate_(std::move(fate)) {}

  std::uint64_t refused() const override { return refused_; }

 protected:
  bool must_wait() const { return TraceClock::now() < not_before_; }
  void wait(std::chrono::nanoseconds time) {
    not_before_ = TraceClock::now() + std::min<std::chrono::nanoseconds>(time, kLongestWait);
  }
  void taken(std::string_view body, std::uint32_t items) {
    const auto part = read_otlp_answer(body);
    // A collector cannot reject more than it was sent.
    if (part.rejected > 0)
      reject(static_cast<std::uint32_t>(std::min<std::uint64_t>(part.rejected, items)), part.why);
  }
  // All of a message, or some of its items.
  void reject(std::uint32_t items, std::string why) {
    refused_ += items;
    fate_->with([&](OtlpFate& fate) {
      fate.rejected += items;
      fate.why = std::move(why);
    });
  }

  const std::vector<net::HttpField> fields_;
  const std::chrono::nanoseconds timeout_;

 private:
  TraceTime not_before_{};
  std::uint64_t refused_ = 0;
  std::shared_ptr<Guarded<OtlpFate>> fate_;
};

class HttpCarrier final : public OtlpCarrier {
 public:
  template <class... Shared>
  HttpCarrier(net::HttpUrl url, std::shared_ptr<net::TlsContext> tls, Shared&&... shared)
      : OtlpCarrier(std::forward<Shared>(shared)...), client_(std::move(url), std::move(tls)) {}

  Result<> carry(std::string_view message, std::uint32_t items) override {
    if (must_wait()) return fail(Errc::kTimeout, "{} requested a delay", client_.url().text());
    const auto answer = TRY(client_.ask("POST", fields_, message, Deadline{timeout_}));
    if (answer.status == 200) return taken(answer.body, items), Result<>{};
    auto why = fmt::format("{} returned {} {}", client_.url().text(), answer.status,
                           net::status_text(answer.status));
    if (!may_come_again(answer.status)) return reject(items, std::move(why)), Result<>{};
    const auto after = net::find_field(answer.fields, "Retry-After");
    if (const auto seconds = after ? parse_number(trim(*after)) : std::nullopt)
      wait(std::chrono::seconds{
          static_cast<std::int64_t>(std::min<std::uint64_t>(*seconds, 1'000'000))});
    return fail(Errc::kSystem, "{}", why);
  }

  void interrupt() override { client_.interrupt(); }

 private:
  static bool may_come_again(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
  }

  net::HttpClient client_;
};

class GrpcCarrier final : public OtlpCarrier {
 public:
  template <class... Shared>
  GrpcCarrier(net::GrpcTarget target, std::shared_ptr<net::TlsContext> tls, const char* method,
              Shared&&... shared)
      : OtlpCarrier(std::forward<Shared>(shared)...),
        method_(method),
        client_(std::move(target), std::move(tls)) {}

  Result<> carry(std::string_view message, std::uint32_t items) override {
    if (must_wait()) return fail(Errc::kTimeout, "{} requested a delay", client_.target().text());
    const auto answer = TRY(client_.call(method_, fields_, message, Deadline{timeout_}));
    if (answer.status == net::GrpcStatus::kOk) return taken(answer.body, items), Result<>{};
    auto why = fmt::format("{} returned {}", client_.target().text(), status_text(answer.status));
    if (!answer.message.empty())
      why += fmt::format(": {}", printable(answer.message.substr(0, kLongestReason)));
    const auto after = otlp_retry_delay(answer.details);
    if (!may_come_again(answer.status, after.has_value()))
      return reject(items, std::move(why)), Result<>{};
    if (after) wait(*after);
    return fail(Errc::kSystem, "{}", why);
  }

  void interrupt() override { client_.interrupt(); }

 private:
  // As OTLP says.
  static bool may_come_again(net::GrpcStatus status, bool told_when) {
    switch (status) {
      case net::GrpcStatus::kCancelled:
      case net::GrpcStatus::kDeadlineExceeded:
      case net::GrpcStatus::kAborted:
      case net::GrpcStatus::kOutOfRange:
      case net::GrpcStatus::kUnavailable:
      case net::GrpcStatus::kDataLoss:
        return true;
      default:
        return status == net::GrpcStatus::kResourceExhausted && told_when;
    }
  }

  static constexpr std::size_t kLongestReason = 300;

  const char* const method_;
  net::GrpcClient client_;
};

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOdd = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOdd.find(c) != std::string_view::npos;
  });
}

}  // namespace

Result<> add_headers_of_file(const std::string& path, std::vector<net::HttpField>& fields) {
  constexpr std::size_t kLargest = 64 << 10;
  const auto text = TRY(read_file(path, kLargest));
  std::size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto plain = trim(line);
    if (plain.empty() || plain.starts_with('#')) continue;
    const auto colon = plain.find(':');
    const auto name = trim(plain.substr(0, colon));
    if (colon == std::string_view::npos || !is_header_name(name) || printable(plain) != plain)
      return fail(Errc::kUsage, "{}: line {} must be NAME: VALUE", path, number);
    fields.push_back({std::string{name}, std::string{trim(plain.substr(colon + 1))}});
  }
  return {};
}

bool OtlpPeer::wants_tls() const {
  const auto* url = std::get_if<net::HttpUrl>(&address);
  return url ? url->tls : std::get<net::GrpcTarget>(address).tls;
}

Result<OtlpPeer> parse_otlp_peer(std::string_view text, const OtlpSignal& signal) {
  OtlpPeer peer{.signal = signal};
  if (text.starts_with("grpc://") || text.starts_with("grpcs://")) {
    peer.address = TRY(net::parse_grpc_target(text));
    return peer;
  }
  auto url = TRY(net::parse_url(text));
  if (url.path == "/") url.path = signal.path;
  peer.address = std::move(url);
  peer.fields.push_back({"Content-Type", "application/x-protobuf"});
  return peer;
}

std::unique_ptr<Carrier> make_otlp_carrier(const OtlpPeer& peer,
                                           std::shared_ptr<Guarded<OtlpFate>> fate) {
  if (const auto* url = std::get_if<net::HttpUrl>(&peer.address))
    return std::make_unique<HttpCarrier>(*url, peer.tls, peer.fields, peer.timeout,
                                         std::move(fate));
  return std::make_unique<GrpcCarrier>(std::get<net::GrpcTarget>(peer.address), peer.tls,
                                       peer.signal.method, peer.fields, peer.timeout,
                                       std::move(fate));
}

}  // namespace clrscope::sinks
