#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kFleet[] = {
    {.name = "--store",
     .value = "STORE",
     .help = "where requests are kept: sqlite:FILE or clickhouse:URL[,URL…]"},
    {.name = "--listen",
     .value = "HOST:PORT",
     .help = "address of gRPC (default: 127.0.0.1:52330)"},
    {.name = "--http",
     .value = "HOST:PORT",
     .help = "address of the REST API (default: 127.0.0.1:52331; none: no REST)"},
    {.name = "--tls-cert",
     .value = "FILE",
     .help = "PEM certificate with its chain; required beyond loopback"},
    {.name = "--tls-key",
     .value = "FILE",
     .help = "private key of the certificate (default: in the certificate file)"},
    {.name = "--token-file",
     .value = "FILE",
     .help = "tokens of hosts and readers; create it with fleet token"},
    {.name = "--no-auth", .help = "anybody on this machine may send and read; only on loopback"},
    {.name = "--audit", .value = "FILE", .help = "log of every stream and query"},
    {.name = "--retention",
     .value = "TIME",
     .help = "age at which requests are deleted (default: 7d)"},
    {.name = "--max-size",
     .value = "SIZE",
     .help = "size of the store at which the oldest requests are deleted (default: none)"},
    {.name = "--query-memory",
     .value = "SIZE",
     .help = "memory of one query in ClickHouse (default: 2GB)"},
    {.name = "--host-limit",
     .value = "COUNT",
     .help = "spans and requests per second and host (default: none)"},
    {.name = "--otlp-to",
     .value = "URL",
     .help = "OpenTelemetry collector that gets sampled requests as spans: http://HOST:4318 or "
             "grpc://HOST:4317 (default: none)"},
    {.name = "--otlp-profiles",
     .help = "also sends CPU samples to the collector, as profiles (signal v1development)"},
    {.name = "--otlp-header-file",
     .value = "FILE",
     .help = "headers for the collector, one NAME: VALUE per line"},
    {.name = "--otlp-ca",
     .value = "FILE",
     .help = "PEM certificates to trust for the collector (default: the system's)"},
    {.name = "--tenants",
     .value = "FILE",
     .help = "serve, migrate: tenants with quotas and retention; the store is a folder then"},
    {.name = "--name", .value = "NAME", .help = "token: who will use it"},
    {.name = "--scope", .value = "LIST", .help = "token: ingest, read, admin, or several"},
    {.name = "--tenant",
     .value = "NAME",
     .help = "token: whose data it is, on a server with tenants; *: sees quotas, no data"},
    {.name = "--server",
     .value = "URL",
     .help = "tenants: server to ask (default: http://127.0.0.1:52331)"},
    {.name = "--ca",
     .value = "FILE",
     .help = "tenants, replay: PEM certificates to trust (default: those of the system)"},
    {.name = "--frames",
     .value = "FILE",
     .help = "replay: recorded batches, as clrscope-fleet relay reads them"},
    {.name = "--to",
     .value = "URL",
     .help = "replay: server: grpc://HOST:PORT or grpcs://HOST:PORT"},
    {.name = "--hosts", .value = "COUNT", .help = "replay: number of hosts (default: 100)"},
    {.name = "--scale",
     .value = "SHARE",
     .help = "replay: share of the true rate, such as 0.01 (default: 1)"},
    {.name = "--duration", .value = "TIME", .help = "replay: how long to send (default: 30s)"},
    {.name = "--streams",
     .value = "COUNT",
     .help = "replay: connections that the hosts share (default: 4)"},
};

// What `fleet serve --json` prints when it has started.
struct FleetAddresses {
  std::string grpc{};
  std::string http{};
};
const Shape& shape_of(const FleetAddresses*) {
  using A = FleetAddresses;
  static const auto shape = describe<A>("FleetAddresses", "a fleet server that has started",
                                        {member<&A::grpc>("grpc", "address of gRPC"),
                                         member<&A::http>("http", "URL of the REST API")});
  return shape;
}

// What `fleet token --json` prints.
struct FleetToken {
  std::string name{};
  std::string scope{};
  std::string token{};
};
const Shape& shape_of(const FleetToken*) {
  using T = FleetToken;
  static const auto shape = describe<T>(
      "FleetToken", "a token that was created",
      {member<&T::name>("name", "who will use it"), member<&T::scope>("scope", "what it may do"),
       member<&T::token>("token", "the token; it is shown once and stored nowhere")});
  return shape;
}

// What `fleet migrate --json` prints.
struct FleetMigration {
  std::string done{};
};
const Shape& shape_of(const FleetMigration*) {
  using M = FleetMigration;
  static const auto shape = describe<M>("FleetMigration", "a store whose tables are up to date",
                                        {member<&M::done>("done", "version and servers")});
  return shape;
}

// What `fleet check --json` prints.
struct FleetDifference {
  std::string table{};
  std::string service{};
  WallTime time{};
  std::string requests{};
  std::string view{};
};
const Shape& shape_of(const FleetDifference*) {
  using D = FleetDifference;
  static const auto shape =
      describe<D>("FleetDifference", "a view that does not agree with the requests",
                  {member<&D::table>("table", "table of the view"),
                   member<&D::service>("service", "name of the service"),
                   member<&D::time>("time", "begin of the hour or slot"),
                   member<&D::requests>("requests", "numbers made from the requests"),
                   member<&D::view>("view", "numbers of the view")});
  return shape;
}
struct FleetCheck {
  std::uint64_t compared = 0;
  std::uint64_t unsettled = 0;
  std::uint64_t different = 0;
  std::vector<FleetDifference> differences{};
};
const Shape& shape_of(const FleetCheck*) {
  using C = FleetCheck;
  static const auto shape =
      describe<C>("FleetCheck", "the views of a store compared with its requests",
                  {member<&C::compared>("compared", "sums that were compared"),
                   member<&C::unsettled>(
                       "unsettled", "slots left out, because some of their requests do not count"),
                   member<&C::different>("different", "sums that differ"),
                   member<&C::differences>("differences", "the first 100 of them")});
  return shape;
}

// What `fleet replay --json` prints.
struct FleetReplay {
  std::uint64_t hosts = 0;
  double seconds = 0;
  double true_per_second = 0;
  double scale = 0;
  double share_percent = 0;
  std::uint64_t batches = 0, requests = 0, spans = 0, samples = 0;
  std::uint64_t delivered = 0, refused = 0, waiting_bytes = 0;
};
const Shape& shape_of(const FleetReplay*) {
  using R = FleetReplay;
  static const auto shape = describe<R>(
      "FleetReplay", "batches that were sent as if they came from many hosts",
      {member<&R::hosts>("hosts", "number of hosts"),
       member<&R::seconds>("seconds", "time from the first batch to the last acknowledgement"),
       member<&R::true_per_second>("trueBatchesPerSecond", Unit::kPerSecond,
                                   "batches that so many hosts send"),
       member<&R::scale>("scale", "share of these that was asked for"),
       member<&R::share_percent>("sharePercent", Unit::kPercent,
                                 "share of these that was delivered"),
       member<&R::batches>("batches", "batches sent"),
       member<&R::requests>("requests", "requests in them"),
       member<&R::spans>("spans", "spans in them"),
       member<&R::samples>("samples", "CPU samples in them"),
       member<&R::delivered>("delivered", "batches acknowledged"),
       member<&R::refused>("refused", "batches refused"),
       member<&R::waiting_bytes>("waitingBytes", "size of what was not delivered")});
  return shape;
}

// What `fleet tenants --json` prints: as the server answers it at /fleet/tenants.
struct FleetTenantUse {
  std::string tenant{};
  double retention = 0;
  std::uint64_t bytes = 0, quota_bytes = 0, series = 0, quota_series = 0;
  std::uint64_t refused_batches = 0, refused_requests = 0;
  bool full = false;
};
const Shape& shape_of(const FleetTenantUse*) {
  using U = FleetTenantUse;
  static const auto shape = describe<U>(
      "FleetTenantUse", "what a tenant uses of what it may",
      {member<&U::tenant>("tenant", "name"),
       member<&U::retention>("retentionMs", "age at which its requests are deleted"),
       member<&U::bytes>("bytes", "of its store"),
       member<&U::quota_bytes>("quotaBytes", "at which its batches must wait; 0: none"),
       member<&U::series>("series", "services and routes of the last hour; 0 without a quota"),
       member<&U::quota_series>("quotaSeries", "beyond which new ones are refused; 0: none"),
       member<&U::refused_batches>("refusedBatches", "that had to wait for the quota of bytes"),
       member<&U::refused_requests>("refusedRequests", "lost by the quota of series"),
       member<&U::full>("full", "whether its batches must wait now")});
  return shape;
}
struct FleetTenants {
  std::vector<FleetTenantUse> tenants{};
};
const Shape& shape_of(const FleetTenants*) {
  using T = FleetTenants;
  static const auto shape = describe<T>("FleetTenants", "tenants of a fleet server",
                                        {member<&T::tenants>("tenants", "by name")});
  return shape;
}

std::string beside_us(std::string_view name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

// gRPC is not in this program: clrscope-fleet, beside it, takes over.
Result<int> run(const Args& args, Console& /*console*/) {
  const auto& words = args.positionals();
  constexpr std::string_view kCommands[] = {"serve",   "token", "migrate",
                                            "tenants", "check", "replay"};
  if (words.size() != 1 || std::ranges::find(kCommands, words[0]) == std::end(kCommands))
    return fail(Errc::kUsage,
                "fleet requires a command: serve, token, migrate, tenants, check or replay");
  std::vector<std::string> command{beside_us("clrscope-fleet"), words[0]};
  for (const auto& option : kFleet) {
    if (option.value.empty()) {
      if (args.has(option.name)) command.emplace_back(option.name);
      continue;
    }
    for (const auto& value : args.all(option.name)) {
      command.emplace_back(option.name);
      command.push_back(value);
    }
  }
  if (args.has("--json")) command.emplace_back("--json");
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return fail(errno == ENOENT ? Errc::kUnsupported : errc_of(errno), "cannot start {}: {}",
              command[0], errno_text())
      .hint(
          "install clrscope-fleet next to clrscope; it is built if gRPC and SQLite are "
          "installed");
}

const Options kOptions[] = {Options{kFleet}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {
    answers_with<FleetAddresses>(JsonAnswer::Form::kObject, "serve"),
    answers_with<FleetToken>(JsonAnswer::Form::kObject, "token"),
    answers_with<FleetMigration>(JsonAnswer::Form::kObject, "migrate"),
    answers_with<FleetTenants>(JsonAnswer::Form::kObject, "tenants"),
    answers_with<FleetCheck>(JsonAnswer::Form::kObject, "check"),
    answers_with<FleetReplay>(JsonAnswer::Form::kObject, "replay")};

}  // namespace

extern const Verb fleet_verb{
    .name = "fleet",
    .summary = "Store the requests of many hosts and answer queries",
    .usage =
        "(serve --store STORE --token-file FILE | token --token-file FILE --name NAME "
        "--scope LIST | (migrate | check) --store clickhouse:URL[,URL…] | tenants --token-file "
        "FILE "
        "| replay --frames FILE --to URL --hosts COUNT)",
    .options = kOptions,
    .examples =
        "  clrscope fleet serve --store sqlite:fleet.db --token-file tokens\n"
        "  clrscope fleet token --token-file tokens --name web-7 --scope ingest",
    .run = run,
    .positionals = 1,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
