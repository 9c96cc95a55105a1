#include "fleet/server.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/io.h"
#include "base/log.h"
#include "fleet/agents_service.h"
#include "fleet/grpc_services.h"
#include "fleet/otlp_service.h"
#include "fleet/rest.h"
#include "net/socket.h"
#include "store/cancel.h"

namespace clrscope::fleet {
namespace {

constexpr std::chrono::seconds kMaintainEvery{1};
constexpr std::chrono::minutes kExpireEvery{1};
constexpr std::chrono::seconds kMeasureEvery{5};
constexpr int kLargestMessage = 20 << 20;

Result<> check_exposure(const ServeSetting& setting, const std::string& address) {
  if (is_loopback(address)) return {};
  if (setting.tls_certificate.empty())
    return fail(Errc::kUsage, "{} is beyond loopback and requires TLS", address)
        .hint("add --tls-cert FILE, or listen on 127.0.0.1");
  if (setting.token_file.empty())
    return fail(Errc::kUsage, "{} is beyond loopback and requires tokens", address)
        .hint("add --token-file FILE; create it with: clrscope fleet token");
  return {};
}

Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const ServeSetting& setting) {
  if (setting.tls_certificate.empty()) return grpc::InsecureServerCredentials();
  const auto& key = setting.tls_key.empty() ? setting.tls_certificate : setting.tls_key;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {TRY(read_file(key, 1 << 20)), TRY(read_file(setting.tls_certificate, 1 << 20))});
  return grpc::SslServerCredentials(options);
}

}  // namespace

bool is_loopback(std::string_view address) {
  if (address.starts_with("unix:")) return true;
  const auto host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host == "127.0.0.1";
}

struct FleetServer::Impl {
  Impl(std::unique_ptr<OtlpForwarder> to_collector, std::unique_ptr<Tenants> opened, Tokens found,
       std::unique_ptr<FleetAudit> log, IngestSetting ingest_setting)
      : forwarder(std::move(to_collector)),
        tenants(std::move(opened)),
        tokens(std::move(found)),
        audit(std::move(log)),
        ingest(std::move(ingest_setting), {tokens, *audit, *tenants}),
        query({tokens, *audit, *tenants}, gate),
        agents({tokens, *audit, *tenants}),
        otlp({tokens, *audit, *tenants}) {}
  ~Impl() {
    maintenance = {};  // before what it maintains
    constexpr std::chrono::seconds kPatience{2};
    if (grpc) grpc->Shutdown(std::chrono::system_clock::now() + kPatience);
    if (grpc) grpc->Wait();
  }

  std::unique_ptr<OtlpForwarder> forwarder;  // the tenants give to it
  std::unique_ptr<Tenants> tenants;
  Tokens tokens;
  std::unique_ptr<FleetAudit> audit;
  QueryGate gate;  // of all queries
  IngestService ingest;
  QueryService query;
  AgentsService agents;
  OtlpService otlp;
  std::unique_ptr<grpc::Server> grpc;
  std::unique_ptr<Rest> rest;
  std::string grpc_address, http_address;
  std::jthread maintenance;

  // Beside the main thread: a store that hangs must not delay a token's end.
  void maintain(const std::stop_token& stop) const {
    const store::CancelScope scope{stop, store::CancelScope::What::kAll};
    TraceTime expired{}, measured{};
    std::mutex mutex;
    std::condition_variable_any ends;
    for (std::unique_lock lock{mutex}; !stop.stop_requested();
         ends.wait_for(lock, stop, kMaintainEvery, [] { return false; })) {
      tenants->flush();
      const auto now = TraceClock::now();
      if (now - measured >= kMeasureEvery) {
        measured = now;
        tenants->measure();
      }
      if (now - expired < kExpireEvery) continue;
      expired = now;
      tenants->maintain(wall_now());
    }
  }
};

FleetServer::FleetServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FleetServer::~FleetServer() = default;
const std::string& FleetServer::grpc_address() const { return impl_->grpc_address; }
const std::string& FleetServer::http_address() const { return impl_->http_address; }

std::string FleetServer::one_time_address() {
  // With tenants nobody would know whose pages it shows: sign in with a token.
  if (!impl_->rest || !impl_->tokens.required() || impl_->tenants->several()) return {};
  return impl_->rest->one_time_address(impl_->http_address);
}

Result<std::unique_ptr<FleetServer>> FleetServer::start(ServeSetting setting) {
  TRY(check_exposure(setting, setting.listen));
  if (!setting.http.empty()) TRY(check_exposure(setting, setting.http));
  if (setting.token_file.empty() && !setting.no_auth)
    return fail(Errc::kUsage, "--token-file is required")
        .hint(
            "create one with clrscope fleet token, or add --no-auth: anybody on this machine may "
            "then send and read");
  if (setting.token_file.empty() && !setting.tenants.empty())
    return fail(Errc::kUsage, "--tenants requires --token-file")
        .hint("the token says whose data it is: clrscope fleet token --tenant NAME");
  const auto credentials = TRY(credentials_of(setting));
  auto tokens = TRY(Tokens::open(setting.token_file));
  auto audit = TRY(FleetAudit::open(setting.audit_file));
  if (!setting.otlp.to.empty() && !setting.tenants.empty())
    return fail(Errc::kUsage, "--otlp-to and --tenants cannot be used together")
        .hint("one collector would get the requests of all tenants");
  std::unique_ptr<OtlpForwarder> forwarder;
  Committer::OnStored on_stored;
  if (!setting.otlp.to.empty()) {
    forwarder = TRY(OtlpForwarder::start(setting.otlp));
    on_stored = [raw = forwarder.get()](store::Batch batch) { raw->offer(std::move(batch)); };
  }
  auto tenants = TRY(
      Tenants::open({.store = setting.store,
                     .file = setting.tenants,
                     .limits = setting.query_limits,
                     .usual = {.retention = setting.retention, .host_limit = setting.host_limit},
                     .on_stored = std::move(on_stored)}));
  IngestSetting ingest{.server = "clrscope-fleet " CLRSCOPE_VERSION};
  auto impl = std::make_unique<Impl>(std::move(forwarder), std::move(tenants), std::move(tokens),
                                     std::move(audit), std::move(ingest));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // What a stream may send ahead stays at 64 KiB: there are thousands, and each sends little.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(kLargestMessage);
  builder.AddListeningPort(setting.listen, credentials, &port);
  builder.RegisterService(&impl->ingest);
  builder.RegisterService(&impl->query);
  builder.RegisterService(&impl->agents);
  builder.RegisterService(&impl->otlp);
  impl->grpc = builder.BuildAndStart();
  if (!impl->grpc || (port == 0 && !setting.listen.starts_with("unix:")))
    return fail(Errc::kSystem, "cannot listen on {}", setting.listen)
        .hint("the port may be in use: choose another with --listen");
  impl->grpc_address =
      port <= 1 ? setting.listen
                : fmt::format("{}:{}", setting.listen.substr(0, setting.listen.rfind(':')), port);
  if (!setting.http.empty()) {
    net::HttpEndpoint endpoint{.address = TRY(net::parse_address(setting.http))};
    if (!setting.tls_certificate.empty())
      endpoint.tls = TRY(net::TlsContext::server({setting.tls_certificate, setting.tls_key}));
    impl->rest =
        TRY(Rest::start(endpoint, Access{impl->tokens, *impl->audit, *impl->tenants}, impl->gate));
    impl->http_address =
        fmt::format("{}://{}", endpoint.tls ? "https" : "http", impl->rest->address().text());
  }
  impl->maintenance =
      std::jthread{[raw = impl.get()](const std::stop_token& stop) { raw->maintain(stop); }};
  return std::unique_ptr<FleetServer>{new FleetServer{std::move(impl)}};
}

void FleetServer::tick() {
  if (const auto done = impl_->tokens.refresh(); !done) log_error(done.error());
  if (const auto done = impl_->tenants->refresh(); !done) log_error(done.error());
  if (impl_->forwarder) impl_->forwarder->tick();
}

}  // namespace clrscope::fleet
