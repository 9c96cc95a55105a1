// Counters of all processes to an OpenTelemetry collector: OTLP metrics over HTTP or gRPC.
//
// Totals are cumulative, so that a message that is lost loses no count. What the collector cannot
// take now waits in the outbox; what it refuses for good is counted and not sent again.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <tuple>
#include <variant>

#include "base/guarded.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/text.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "sinks/event_metrics.h"
#include "sinks/otlp_message.h"
#include "sinks/outbox.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

constexpr std::string_view kPath = "/v1/metrics";
constexpr auto kLongestWait = std::chrono::minutes{5};  // that a collector may ask for
constexpr auto kPatienceAtEnd = std::chrono::seconds{5};

// What became of messages, told by the outbox's thread to the sink's.
struct Fate {
  std::uint64_t taken = 0;     // messages, at least in part
  std::uint64_t rejected = 0;  // messages, and points of those that were taken in part
  std::uint64_t told = 0;      // of these
  std::string why{};
};

// What the ways to a collector share: a message is taken, comes later, or is refused for good.
class OtlpCarrier : public Carrier {
 public:
  OtlpCarrier(std::vector<net::HttpField> fields, std::chrono::nanoseconds timeout,
              std::shared_ptr<Guarded<Fate>> fate)
      : fields_(std::move(fields)), timeout_(timeout), fate_(std::move(fate)) {}

 protected:
  bool must_wait() const { return TraceClock::now() < not_before_; }
  void wait(std::chrono::nanoseconds time) {
    not_before_ = TraceClock::now() + std::min<std::chrono::nanoseconds>(time, kLongestWait);
  }
  void taken(std::string_view body) {
    fate_->with([](Fate& fate) { ++fate.taken; });
    const auto part = read_otlp_answer(body);
    if (part.rejected > 0) reject(part.rejected, part.why);
  }
  void reject(std::uint64_t count, std::string why) {
    fate_->with([&](Fate& fate) {
      fate.rejected += count;
      fate.why = std::move(why);
    });
  }

  const std::vector<net::HttpField> fields_;
  const std::chrono::nanoseconds timeout_;

 private:
  TraceTime not_before_{};
  std::shared_ptr<Guarded<Fate>> fate_;
};

class HttpCarrier final : public OtlpCarrier {
 public:
  template <class... Shared>
  HttpCarrier(net::HttpUrl url, std::shared_ptr<net::TlsContext> tls, Shared&&... shared)
      : OtlpCarrier(std::forward<Shared>(shared)...), client_(std::move(url), std::move(tls)) {}

  Result<> carry(std::string_view message) override {
    if (must_wait()) return fail(Errc::kTimeout, "{} requested a delay", client_.url().text());
    const auto answer = TRY(client_.ask("POST", fields_, message, Deadline{timeout_}));
    if (answer.status == 200) return taken(answer.body), Result<>{};
    auto why = fmt::format("{} returned {} {}", client_.url().text(), answer.status,
                           net::status_text(answer.status));
    if (!may_come_again(answer.status)) return reject(1, std::move(why)), Result<>{};
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
  GrpcCarrier(net::GrpcTarget target, std::shared_ptr<net::TlsContext> tls, Shared&&... shared)
      : OtlpCarrier(std::forward<Shared>(shared)...), client_(std::move(target), std::move(tls)) {}

  Result<> carry(std::string_view message) override {
    if (must_wait()) return fail(Errc::kTimeout, "{} requested a delay", client_.target().text());
    const auto answer = TRY(client_.call(kMethod, fields_, message, Deadline{timeout_}));
    if (answer.status == net::GrpcStatus::kOk) return taken(answer.body), Result<>{};
    auto why = fmt::format("{} returned {}", client_.target().text(), status_text(answer.status));
    if (!answer.message.empty())
      why += fmt::format(": {}", printable(answer.message.substr(0, kLongestReason)));
    const auto after = otlp_retry_delay(answer.details);
    if (!may_come_again(answer.status, after.has_value()))
      return reject(1, std::move(why)), Result<>{};
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

  static constexpr const char* kMethod =
      "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
  static constexpr std::size_t kLongestReason = 300;

  net::GrpcClient client_;
};

struct Setting {
  std::string name{};  // of the sink
  std::variant<net::HttpUrl, net::GrpcTarget> peer{};
  std::shared_ptr<net::TlsContext> tls{};
  std::vector<net::HttpField> fields{};
  std::chrono::nanoseconds timeout{std::chrono::seconds{10}};
  std::string field{};
  MetricStore::Setting store{};
  SinkSetting shared{};
};

class OtlpSink final : public hub::Sink {
 public:
  explicit OtlpSink(Setting setting)
      : setting_(std::move(setting)),
        store_(setting_.store),
        events_(setting_.field),
        counted_(TraceClock::now()),
        exported_(counted_) {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) == 0) context_.host = host;
  }

  Result<> open() override {
    OutboxSetting outbox{.name = setting_.name, .spool = setting_.shared.spool};
    if (!outbox.spool.empty()) outbox.limit = setting_.shared.spool_limit;
    auto opened = TRY(Outbox::open(std::move(outbox), make_carrier()));
    outbox_.with([&](auto& one) { one = std::move(opened); });
    return {};
  }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    if (change == hub::SourceChange::kCame) return store_.came(source), Result<>{};
    // Its last values are still to be sent.
    send();
    store_.gone(source, TraceClock::now());
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    events_.add(batch);
    return {};
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    store_.add(values);
    return {};
  }

  Result<> on_dropped(std::uint64_t events) override {
    dropped_ += events;
    return {};
  }

  Result<> on_tick() override {
    const auto now = TraceClock::now();
    store_.add(events_.take(wall_now(), now - std::exchange(counted_, now)));
    store_.expire(now);
    if (now - exported_ >= setting_.shared.interval) send();
    return trouble();
  }

  std::string state() const override {
    const auto fate = fate_->with([](const Fate& one) { return one; });
    auto text = outbox_.with([](const auto& one) { return one ? one->state().text() : ""; });
    if (fate.rejected > 0)
      text += fmt::format(", rejected {} ({})", format_count(fate.rejected), fate.why);
    if (const auto refused = refused_.load(); refused > 0)
      text += fmt::format(", {} values beyond the series limit", format_count(refused));
    return text;
  }

  // What was refused for good has left the outbox too.
  std::optional<std::uint64_t> delivered() const override {
    if (fate_->with([](const Fate& fate) { return fate.taken; }) == 0) return 0;
    return outbox_.with([](const auto& one) { return one ? one->state().delivered : 0; });
  }

  Result<> close(const hub::SessionSummary&) override {
    send();
    outbox_.with([](auto& one) {
      if (one) one->finish(kPatienceAtEnd);
    });
    return trouble();
  }

 private:
  std::unique_ptr<Carrier> make_carrier() const {
    const auto& [fields, timeout] = std::tie(setting_.fields, setting_.timeout);
    if (const auto* url = std::get_if<net::HttpUrl>(&setting_.peer))
      return std::make_unique<HttpCarrier>(*url, setting_.tls, fields, timeout, fate_);
    return std::make_unique<GrpcCarrier>(std::get<net::GrpcTarget>(setting_.peer), setting_.tls,
                                         fields, timeout, fate_);
  }

  void send() {
    exported_ = TraceClock::now();
    add_own();
    auto requests = otlp_requests(store_, sent_, context_);
    sent_ = store_.revision();
    refused_ = store_.refused();
    outbox_.with([&](auto& one) {
      if (!one) return;
      for (auto& request : requests) one->put(std::move(request.bytes), request.points);
    });
  }

  // Our own losses, as those of a process like the others.
  void add_own() {
    hub::CounterValue dropped{.time = wall_now(),
                              .pid = ::getpid(),
                              .process = "clrscope",
                              .provider = "clrscope",
                              .name = "clrscope.events.dropped",
                              .unit = "{event}",
                              .kind = hub::CounterKind::kRate,
                              .meter = true,
                              .total = static_cast<double>(dropped_)};
    auto refused = dropped;
    refused.name = "clrscope.values.refused";
    refused.unit = "{value}";
    refused.total = static_cast<double>(store_.refused());
    const hub::CounterValue both[] = {std::move(dropped), std::move(refused)};
    store_.add(both);
  }

  // What is new since the last call.
  Result<> trouble() {
    TRY(outbox_.with([](auto& one) { return one ? one->trouble() : Result<>{}; }));
    return fate_->with([](Fate& fate) -> Result<> {
      if (std::exchange(fate.told, fate.rejected) == fate.rejected) return {};
      return fail(Errc::kDenied, "rejected: {}", fate.why);
    });
  }

  const Setting setting_;
  MetricStore store_;
  EventMetrics events_;
  OtlpContext context_;
  TraceTime counted_, exported_;
  std::uint64_t sent_ = 0;  // the store's revision, then
  std::uint64_t dropped_ = 0;
  std::atomic<std::uint64_t> refused_{0};
  std::shared_ptr<Guarded<Fate>> fate_ = std::make_shared<Guarded<Fate>>();
  Guarded<std::unique_ptr<Outbox>> outbox_;
};

Result<net::HttpField> header_of(const std::string& text, const SinkAddress& address) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(Errc::kUsage, "--to {}: header must be NAME=VALUE", address.text);
  return net::HttpField{text.substr(0, equals), text.substr(equals + 1)};
}

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOdd = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOdd.find(c) != std::string_view::npos;
  });
}

// "NAME: VALUE" on each line. Messages name the line, never what stands in it.
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

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting& shared) {
  Setting setting;
  setting.name = address.identity;
  setting.shared = shared;
  bool tls = false;
  if (address.target.starts_with("grpc://") || address.target.starts_with("grpcs://")) {
    const auto target = TRY(net::parse_grpc_target(address.target));
    tls = target.tls;
    setting.peer = target;
  } else {
    auto url = TRY(net::parse_url(address.target));
    if (url.path == "/") url.path = kPath;
    tls = url.tls;
    setting.peer = url;
    setting.fields.push_back({"Content-Type", "application/x-protobuf"});
  }
  for (const auto& header : address.all("header"))
    setting.fields.push_back(TRY(header_of(header, address)));
  for (const auto& file : address.all("header-file"))
    TRY(add_headers_of_file(file, setting.fields));
  setting.timeout = TRY(address.duration("timeout", setting.timeout));
  setting.store.limit = TRY(address.number("limit", setting.store.limit, 1, 10'000'000));
  setting.field = address.option("field").value_or("");
  const bool insecure = TRY(address.truth("insecure", false));
  const auto ca = address.option("ca").value_or("");
  if (!tls && (insecure || !ca.empty()))
    return fail(Errc::kUsage, "--to {}: ca and insecure apply only to https and grpcs",
                address.text);
  if (tls) {
    const auto trust =
        insecure ? net::TlsContext::Trust::kAnybody : net::TlsContext::Trust::kVerify;
    setting.tls = TRY(net::TlsContext::client(ca, trust));
  }
  return std::make_unique<OtlpSink>(std::move(setting));
}

constexpr SinkOption kOptions[] = {
    {"header-file", "FILE", "file with headers to send, one NAME: VALUE per line"},
    {"header", "NAME=VALUE",
     "header to send; not for secrets, because other users can see the command line"},
    {"ca", "FILE", "trusted certificate authorities, PEM (default: the system's)"},
    {"insecure", "yes", "accept any certificate"},
    {"timeout", "TIME", "timeout of a request (default: 10s)"},
    {"limit", "N", "maximum number of series (default: 10000)"},
    {"field", "NAME", "send the mean of this field of events, in addition to their count"},
};

}  // namespace

extern const SinkKind otlp_sink{
    .name = "otlp",
    .target = "URL",
    .summary =
        "metrics to an OpenTelemetry collector: otlp:http://127.0.0.1:4318, or over gRPC: "
        "otlp:grpc://127.0.0.1:4317",
    .options = kOptions,
    .make = make,
};

}  // namespace clrscope::sinks
