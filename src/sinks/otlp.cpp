// Counters of all processes to an OpenTelemetry collector: OTLP metrics over HTTP or gRPC.
//
// Totals are cumulative, so that a message that is lost loses no count. What the collector cannot
// take now waits in the outbox; what it refuses for good is counted and not sent again.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "base/guarded.h"
#include "base/text.h"
#include "sinks/event_metrics.h"
#include "sinks/otlp_carrier.h"
#include "sinks/otlp_message.h"
#include "sinks/outbox.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

constexpr auto kPatienceAtEnd = std::chrono::seconds{5};

struct Setting {
  std::string name{};  // of the sink
  OtlpPeer peer{};
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
    auto opened = TRY(Outbox::open(std::move(outbox), make_otlp_carrier(setting_.peer, fate_)));
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
    const auto fate = fate_->with([](const OtlpFate& one) { return one; });
    auto text = outbox_.with([](const auto& one) { return one ? one->state().text() : ""; });
    if (fate.rejected > 0)
      text += fmt::format(", rejected {} ({})", format_count(fate.rejected), fate.why);
    if (const auto refused = refused_.load(); refused > 0)
      text += fmt::format(", {} values beyond the series limit", format_count(refused));
    return text;
  }

  std::optional<std::uint64_t> delivered() const override {
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
    return fate_->with([](OtlpFate& fate) -> Result<> {
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
  std::shared_ptr<Guarded<OtlpFate>> fate_ = std::make_shared<Guarded<OtlpFate>>();
  Guarded<std::unique_ptr<Outbox>> outbox_;
};

Result<net::HttpField> header_of(const std::string& text, const SinkAddress& address) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(Errc::kUsage, "--to {}: header must be NAME=VALUE", address.text);
  return net::HttpField{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting& shared) {
  Setting setting;
  setting.name = address.identity;
  setting.shared = shared;
  auto& peer = setting.peer;
  peer = TRY(parse_otlp_peer(address.target, kOtlpMetrics));
  for (const auto& header : address.all("header"))
    peer.fields.push_back(TRY(header_of(header, address)));
  for (const auto& file : address.all("header-file")) TRY(add_headers_of_file(file, peer.fields));
  peer.timeout = TRY(address.duration("timeout", peer.timeout));
  setting.store.limit = TRY(address.number("limit", setting.store.limit, 1, 10'000'000));
  setting.field = address.option("field").value_or("");
  const bool insecure = TRY(address.truth("insecure", false));
  const auto ca = address.option("ca").value_or("");
  if (!peer.wants_tls() && (insecure || !ca.empty()))
    return fail(Errc::kUsage, "--to {}: ca and insecure apply only to https and grpcs",
                address.text);
  if (peer.wants_tls()) {
    const auto trust =
        insecure ? net::TlsContext::Trust::kAnybody : net::TlsContext::Trust::kVerify;
    peer.tls = TRY(net::TlsContext::client(ca, trust));
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
