#include "fleet/otlp_forwarder.h"

#include "base/log.h"
#include "base/text.h"
#include "fleet/otlp_spans.h"

namespace clrscope::fleet {
namespace {

constexpr std::uint64_t kMostBytes = 32 << 20;  // that wait for the collector
constexpr std::chrono::seconds kPatienceAtEnd{5};

}  // namespace

Result<std::unique_ptr<OtlpForwarder>> OtlpForwarder::start(const Setting& setting) {
  auto peer = TRY(sinks::parse_otlp_peer(setting.to, sinks::kOtlpSpans));
  if (!setting.header_file.empty())
    TRY(sinks::add_headers_of_file(setting.header_file, peer.fields));
  if (!peer.wants_tls() && !setting.ca_file.empty())
    return fail(Errc::kUsage, "--otlp-ca applies only to https and grpcs, not to {}", setting.to);
  if (peer.wants_tls())
    peer.tls = TRY(net::TlsContext::client(setting.ca_file, net::TlsContext::Trust::kVerify));
  auto fate = std::make_shared<Guarded<sinks::OtlpFate>>();
  auto outbox = TRY(sinks::Outbox::open({.name = "otlp-to", .limit = kMostBytes},
                                        sinks::make_otlp_carrier(peer, fate)));
  return std::unique_ptr<OtlpForwarder>{new OtlpForwarder{std::move(outbox), std::move(fate)}};
}

OtlpForwarder::OtlpForwarder(std::unique_ptr<sinks::Outbox> outbox,
                             std::shared_ptr<Guarded<sinks::OtlpFate>> fate)
    : outbox_(std::move(outbox)),
      fate_(std::move(fate)),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

OtlpForwarder::~OtlpForwarder() {
  worker_.request_stop();
  worker_.join();  // what was queued is in the outbox now
  outbox_->finish(kPatienceAtEnd);
  tick();
  log(LogLevel::kInfo, "spans to the collector: {}", outbox_->state().text());
}

void OtlpForwarder::offer(store::Batch batch) {
  const auto weight = batch.requests.size() + batch.spans.method.size();
  if (!inbox_.try_push(std::move(batch), weight)) not_taken_ += weight;
}

void OtlpForwarder::run(const std::stop_token& stop) {
  while (const auto batch = inbox_.pop(stop))
    for (auto& message : otlp_messages(*batch))
      outbox_->put(std::move(message.bytes), message.spans);
}

void OtlpForwarder::tick() {
  const auto state = outbox_->state();
  const auto dropped = not_taken_.load() + state.dropped;
  if (std::exchange(told_dropped_, dropped) != dropped)
    log(LogLevel::kWarning, "spans to the collector: {} spans dropped; {}", format_count(dropped),
        state.last_failure);
  fate_->with([](sinks::OtlpFate& fate) {
    if (std::exchange(fate.told, fate.rejected) != fate.rejected)
      log(LogLevel::kWarning, "spans to the collector: {} rejected: {}",
          format_count(fate.rejected), fate.why);
  });
}

}  // namespace clrscope::fleet
