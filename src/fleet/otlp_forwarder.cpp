#include "fleet/otlp_forwarder.h"

#include "base/log.h"
#include "base/text.h"
#include "fleet/otlp_profiles.h"
#include "fleet/otlp_spans.h"

namespace clrscope::fleet {
namespace {

constexpr std::uint64_t kMostBytes = 32 << 20;  // that wait for the collector, of each signal
constexpr std::chrono::seconds kPatienceAtEnd{5};

}  // namespace

Result<OtlpForwarder::Signal> OtlpForwarder::open(const Setting& setting, const char* what,
                                                  const sinks::OtlpSignal& signal) {
  auto peer = TRY(sinks::parse_otlp_peer(setting.to, signal));
  const auto* url = std::get_if<net::HttpUrl>(&peer.address);
  if (setting.profiles && url != nullptr && url->path != signal.path)
    return fail(Errc::kUsage, "--otlp-to {} has a path: --otlp-profiles requires one without",
                setting.to)
        .hint("name the host and port: each signal has a path of its own");
  if (!setting.header_file.empty())
    TRY(sinks::add_headers_of_file(setting.header_file, peer.fields));
  if (!peer.wants_tls() && !setting.ca_file.empty())
    return fail(Errc::kUsage, "--otlp-ca applies only to https and grpcs, not to {}", setting.to);
  if (peer.wants_tls())
    peer.tls = TRY(net::TlsContext::client(setting.ca_file, net::TlsContext::Trust::kVerify));
  Signal opened{.what = what, .fate = std::make_shared<Guarded<sinks::OtlpFate>>()};
  opened.outbox = TRY(sinks::Outbox::open({.name = "otlp-to", .limit = kMostBytes},
                                          sinks::make_otlp_carrier(peer, opened.fate)));
  return opened;
}

Result<std::unique_ptr<OtlpForwarder>> OtlpForwarder::start(const Setting& setting) {
  auto spans = TRY(open(setting, "spans", sinks::kOtlpSpans));
  std::optional<Signal> profiles;
  if (setting.profiles) profiles = TRY(open(setting, "profiles", sinks::kOtlpProfiles));
  return std::unique_ptr<OtlpForwarder>{new OtlpForwarder{std::move(spans), std::move(profiles)}};
}

OtlpForwarder::OtlpForwarder(Signal spans, std::optional<Signal> profiles)
    : spans_(std::move(spans)),
      profiles_(std::move(profiles)),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

OtlpForwarder::~OtlpForwarder() {
  worker_.request_stop();
  worker_.join();  // what was queued is in the outboxes now
  finish(spans_);
  if (profiles_) finish(*profiles_);
  tick();
}

void OtlpForwarder::finish(Signal& signal) {
  signal.outbox->finish(kPatienceAtEnd);
  const auto state = signal.outbox->state();
  log(LogLevel::kInfo, "{} to the collector: {}, rejected {}", signal.what, state.text(),
      format_count(state.refused));
}

void OtlpForwarder::offer(store::Batch batch) {
  const auto weight = batch.requests.size() + batch.spans.method.size();
  if (!inbox_.try_push(std::move(batch), weight)) not_taken_ += weight;
}

void OtlpForwarder::run(const std::stop_token& stop) {
  while (const auto batch = inbox_.pop(stop)) {
    for (auto& message : otlp_messages(*batch))
      spans_.outbox->put(std::move(message.bytes), message.spans);
    if (!profiles_) continue;
    if (auto profile = otlp_profile(*batch)) profiles_->outbox->put(*std::move(profile), 1);
  }
}

void OtlpForwarder::tick() {
  tell(spans_, not_taken_.load());
  if (profiles_) tell(*profiles_, 0);
}

void OtlpForwarder::tell(Signal& signal, std::uint64_t not_taken) {
  const auto state = signal.outbox->state();
  const auto dropped = not_taken + state.dropped;
  if (std::exchange(signal.told_dropped, dropped) != dropped)
    log(LogLevel::kWarning, "{0} to the collector: {1} {0} dropped; {2}", signal.what,
        format_count(dropped), state.last_failure);
  signal.fate->with([&](sinks::OtlpFate& fate) {
    if (std::exchange(fate.told, fate.rejected) != fate.rejected)
      log(LogLevel::kWarning, "{0} to the collector: {1} {0} rejected: {2}", signal.what,
          format_count(fate.rejected), fate.why);
  });
}

}  // namespace clrscope::fleet
