#include "fleet/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/fd.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/check_command.h"
#include "fleet/configuration_client.h"
#include "fleet/convert.h"
#include "fleet/frame_file.h"
#include "fleet/options.h"
#include "fleet/relay.h"
#include "fleet/replay_command.h"
#include "fleet/server.h"
#include "fleet/tenants.h"
#include "fleet/tenants_command.h"
#include "fleet/tokens.h"
#include "store/tenant_store.h"
#include "uplink/frame.h"

namespace clrscope::fleet {
namespace {

using Words = std::span<const std::string_view>;

constexpr OptionText kServeOptions[] = {
    {"--store", "STORE",
     "where requests are kept: sqlite:FILE or clickhouse:URL[,URL…] (required)"},
    {"--listen", "HOST:PORT", "address of gRPC (default: 127.0.0.1:52330)"},
    {"--http", "HOST:PORT",
     "address of the pages and the REST API (default: 127.0.0.1:52331; none: no HTTP)"},
    {"--tls-cert", "FILE", "PEM certificate with its chain; required beyond loopback"},
    {"--tls-key", "FILE", "private key of the certificate (default: in the certificate file)"},
    {"--token-file", "FILE", "tokens of hosts and readers"},
    {"--tenants", "FILE", "tenants with quotas and retention; --store is a folder then"},
    {"--no-auth", "", "anybody on this machine may send and read; only on loopback"},
    {"--audit", "FILE", "log of every stream and query"},
    {"--retention", "TIME", "age at which requests are deleted (default: 7d)"},
    {"--max-size", "SIZE", "size of the store at which the oldest are deleted (default: none)"},
    {"--query-memory", "SIZE", "memory of one query (default: 2GB)"},
    {"--host-limit", "COUNT", "spans and requests per second and host (default: none)"},
    {"--otlp-to", "URL",
     "OpenTelemetry collector that gets sampled requests as spans: http://HOST:4318 or "
     "grpc://HOST:4317 (default: none)"},
    {"--otlp-profiles", "",
     "also sends CPU samples to the collector, as profiles (signal v1development)"},
    {"--otlp-header-file", "FILE", "headers for the collector, one NAME: VALUE per line"},
    {"--otlp-ca", "FILE", "PEM certificates to trust for the collector (default: the system's)"},
    {"--json", "", "print the addresses as JSON"},
    {"--help", "", "show this text"},
};
constexpr OptionText kRelayOptions[] = {
    {"--to", "URL",
     "server: grpc://HOST:PORT on this machine, grpcs://HOST:PORT with TLS; or file:PATH: a new "
     "file for fleet replay"},
    {"--ca", "FILE", "PEM certificates to trust (default: those of the system)"},
    {"--token-file", "FILE", "file that holds the token of scope ingest"},
    {"--spool", "DIR", "folder where batches wait (default: in memory)"},
    {"--spool-limit", "SIZE", "size of what may wait (default: 256MiB)"},
    {"--linger", "TIME", "how long to go on delivering after the input has ended (default: 10s)"},
    {"--json", "", "print the counts as JSON when it ends"},
    {"--help", "", "show this text"},
};
constexpr OptionText kMigrateOptions[] = {
    {"--store", "STORE", "all servers of the store: clickhouse:URL[,URL…] (required)"},
    {"--tenants", "FILE", "the tables of each of these tenants"},
    {"--json", "", "print what was done as JSON"},
    {"--help", "", "show this text"},
};
constexpr OptionText kTokenOptions[] = {
    {"--token-file", "FILE", "token file of the server; created if it does not exist"},
    {"--name", "NAME", "who will use it"},
    {"--scope", "LIST", "ingest, read, admin, or several: ingest,read"},
    {"--tenant", "NAME", "whose data it is, on a server with --tenants; *: sees quotas, no data"},
    {"--json", "", "print the token as JSON"},
    {"--help", "", "show this text"},
};

// SIGINT and SIGTERM as a descriptor; before threads start.
UniqueFd stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd{::signalfd(-1, &signals, SFD_CLOEXEC)};
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Result<int> serve(Words words) {
  const auto options = TRY(CommandOptions::parse(kServeOptions, words));
  if (options.has("--help")) {
    print(help_text("serve --store STORE [options]", kServeOptions,
                    "  clrscope-fleet serve --store sqlite:fleet.db --token-file tokens\n"
                    "  clrscope-fleet serve --store sqlite:fleet.db --listen 0.0.0.0:52330 "
                    "--tls-cert tls.pem --token-file tokens"));
    return 0;
  }
  if (!options.has("--store"))
    return fail(Errc::kUsage, "--store is required").hint("for example --store sqlite:fleet.db");
  ServeSetting setting{.store = options.text("--store"),
                       .tenants = options.text("--tenants"),
                       .listen = options.text("--listen", "127.0.0.1:52330"),
                       .http = options.text("--http", "127.0.0.1:52331"),
                       .tls_certificate = options.text("--tls-cert"),
                       .tls_key = options.text("--tls-key"),
                       .token_file = options.text("--token-file"),
                       .no_auth = options.has("--no-auth"),
                       .audit_file = options.text("--audit")};
  setting.otlp = {.to = options.text("--otlp-to"),
                  .header_file = options.text("--otlp-header-file"),
                  .ca_file = options.text("--otlp-ca"),
                  .profiles = options.has("--otlp-profiles")};
  if (setting.otlp.profiles && setting.otlp.to.empty())
    return fail(Errc::kUsage, "--otlp-profiles requires --otlp-to");
  if (setting.http == "none") setting.http.clear();
  setting.retention.age = TRY(options.duration("--retention", setting.retention.age));
  if (setting.retention.age <= std::chrono::nanoseconds::zero())
    return fail(Errc::kUsage, "--retention must be greater than zero");
  setting.retention.max_bytes = TRY(options.size("--max-size", setting.retention.max_bytes));
  setting.query_limits.memory = TRY(options.size("--query-memory", setting.query_limits.memory));
  if (options.has("--host-limit")) {
    const auto limit = parse_number(options.text("--host-limit"));
    if (!limit) return fail(Errc::kUsage, "--host-limit must be a number");
    setting.host_limit = *limit;
  }
  const auto stop = stop_signals();
  const auto server = TRY(FleetServer::start(std::move(setting)));
  if (options.has("--json")) {
    JsonWriter json;
    json.begin_object().member("grpc", server->grpc_address());
    json.member("http", server->http_address());
    if (const auto open = server->one_time_address(); !open.empty()) json.member("open", open);
    json.end_object();
    print(std::move(json).take() + "\n");
  } else {
    log(LogLevel::kInfo, "gRPC on {}", server->grpc_address());
    if (!server->http_address().empty())
      log(LogLevel::kInfo, "pages and REST on {}", server->http_address());
    if (const auto open = server->one_time_address(); !open.empty())
      log(LogLevel::kInfo, "open this address in a browser, once, within 15 minutes: {}", open);
  }
  pollfd wait{stop.get(), POLLIN, 0};
  while (::poll(&wait, 1, 1000) == 0) server->tick();
  return 0;
}

void print_state(const RelayState& state) {
  JsonWriter json;
  json.begin_object().member("batches", state.batches).member("requests", state.requests);
  json.member("spans", state.spans).member("delivered", state.delivered);
  json.member("duplicates", state.duplicates).member("refused", state.refused);
  json.member("dropped", state.dropped).member("lostRequests", state.lost_requests);
  json.member("lostSpans", state.lost_spans).member("malformed", state.malformed);
  json.member("samples", state.samples).member("lostSamples", state.lost_samples);
  json.member("damaged", state.damaged).member("waitingBytes", state.waiting_bytes);
  if (!state.trouble.empty()) json.member("trouble", state.trouble);
  print(std::move(json.end_object()).take() + "\n");
}

// Reads frames until the input or we end. How many places of it were damaged.
template <class OnFrame>
Result<std::uint64_t> read_frames(int stop, const OnFrame& on_frame) {
  uplink::FrameReader frames;
  std::string buffer(64 << 10, '\0');
  pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {stop, POLLIN, 0}};
  for (;;) {
    if (::poll(waits, 2, -1) < 0 && errno != EINTR)
      return fail(Errc::kSystem, "cannot wait for input: {}", errno_text());
    if (waits[1].revents != 0) break;
    if (waits[0].revents == 0) continue;
    const auto got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read the input: {}", errno_text());
    if (got == 0) break;
    frames.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (auto frame = frames.next()) {
      if (frame->kind == uplink::FrameKind::kEnd) return frames.damaged();
      on_frame(*std::move(frame));
    }
  }
  return frames.damaged() + (frames.waiting() > 0 ? 1 : 0);
}

// relay --to file:PATH
Result<int> record_frames(const CommandOptions& options, const std::string& path) {
  for (const auto* name : {"--ca", "--token-file", "--spool", "--spool-limit", "--linger"})
    if (options.has(name)) return fail(Errc::kUsage, "{} applies to a server, not to a file", name);
  auto file = TRY(FrameFile::create(path));
  const auto stop = stop_signals();
  const auto damaged = TRY(read_frames(stop.get(), [&](const uplink::Frame& frame) {
    if (frame.kind == uplink::FrameKind::kBatch) file.add(frame.payload);
  }));
  const auto state = file.finish();
  if (options.has("--json")) print_state(state);
  if (damaged > 0) log(LogLevel::kWarning, "{} places of the input were damaged", damaged);
  return damaged > 0 || state.malformed > 0 || !state.trouble.empty() ? 2 : 0;
}

Result<int> relay_frames(Words words) {
  const auto options = TRY(CommandOptions::parse(kRelayOptions, words));
  if (options.has("--help")) {
    print(help_text("relay --to URL [options] < frames", kRelayOptions,
                    "  clrscope-fleet relay --to grpc://127.0.0.1:52330 < frames\n"
                    "  clrscope-fleet relay --to grpcs://fleet.example:52330 --token-file token "
                    "--spool /var/spool/clrscope < frames"));
    return 0;
  }
  if (!options.has("--to"))
    return fail(Errc::kUsage, "--to is required").hint("for example --to grpc://127.0.0.1:52330");
  if (const auto to = options.text("--to"); to.starts_with(FrameFile::kScheme))
    return record_frames(options, to.substr(FrameFile::kScheme.size()));
  RelaySetting setting{.to = options.text("--to"),
                       .ca_file = options.text("--ca"),
                       .token_file = options.text("--token-file"),
                       .spool = options.text("--spool")};
  setting.limit = TRY(options.size("--spool-limit", setting.limit));
  const bool on_disk = !setting.spool.empty();
  const auto linger = TRY(options.duration("--linger", std::chrono::seconds{10}));
  const auto stop = stop_signals();
  ConfigurationClientSetting asking{.to = setting.to,
                                    .ca_file = setting.ca_file,
                                    .token_file = setting.token_file,
                                    .folder = setting.spool,
                                    .on_change = [](const std::string& line) { print(line); }};
  const auto relay = TRY(Relay::start(std::move(setting)));
  auto configuration = TRY(ConfigurationClient::start(std::move(asking)));
  const auto damaged = TRY(read_frames(stop.get(), [&](uplink::Frame frame) {
    if (frame.kind == uplink::FrameKind::kState)
      configuration->note_state(frame.payload);
    else
      relay->add(std::move(frame.payload));
  }));
  configuration.reset();  // what is printed from now on are the counts
  const bool all = relay->drain(linger);
  const auto state = relay->state();
  if (options.has("--json")) print_state(state);
  if (damaged > 0) log(LogLevel::kWarning, "{} places of the input were damaged", damaged);
  if (!all)
    log(LogLevel::kWarning, "{} were not delivered{}", format_bytes(state.waiting_bytes),
        on_disk ? " and stay in the spool" : " and are lost");
  if (state.lost_requests > 0)
    log(LogLevel::kWarning, "{} requests were lost", format_count(state.lost_requests));
  return damaged > 0 || state.lost_requests > 0 || state.malformed > 0 || (!all && !on_disk) ? 2
                                                                                             : 0;
}

Result<int> token(Words words) {
  const auto options = TRY(CommandOptions::parse(kTokenOptions, words));
  if (options.has("--help")) {
    print(help_text("token --token-file FILE --name NAME --scope LIST", kTokenOptions,
                    "  clrscope-fleet token --token-file tokens --name web-7 --scope ingest\n"
                    "  clrscope-fleet token --token-file tokens --name ana --scope read"));
    return 0;
  }
  if (!options.has("--token-file") || !options.has("--name") || !options.has("--scope"))
    return fail(Errc::kUsage, "--token-file, --name and --scope are required");
  const auto name = options.text("--name"), scope = options.text("--scope");
  const auto word =
      TRY(add_token(options.text("--token-file"), name, scope, options.text("--tenant")));
  if (options.has("--json")) {
    JsonWriter json;
    json.begin_object().member("name", name).member("scope", scope).member("token", word);
    print(std::move(json.end_object()).take() + "\n");
  } else {
    print(word + "\n");
  }
  return 0;
}

Result<std::string> migrate_all(const std::string& where, const std::string& tenants) {
  if (tenants.empty()) return store::migrate_store(where);
  std::string done;
  const auto text = TRY(read_file(tenants, 1 << 20));
  for (const auto& tenant : TRY(parse_tenants(text, {}))) {
    const auto its = TRY(store::tenant_store(where, tenant.name));
    done += fmt::format("{}{}: {}", done.empty() ? "" : "\n", tenant.name,
                        TRY(store::migrate_store(its)));
  }
  return done;
}

Result<int> migrate(Words words) {
  const auto options = TRY(CommandOptions::parse(kMigrateOptions, words));
  if (options.has("--help")) {
    print(help_text("migrate --store clickhouse:URL[,URL…]", kMigrateOptions,
                    "  clrscope-fleet migrate --store clickhouse:http://127.0.0.1:8123\n"
                    "  clrscope-fleet migrate --store "
                    "clickhouse:https://a:8443,https://b:8443,https://c:8443"));
    return 0;
  }
  if (!options.has("--store"))
    return fail(Errc::kUsage, "--store is required")
        .hint("for example --store clickhouse:http://127.0.0.1:8123");
  const auto done = TRY(migrate_all(options.text("--store"), options.text("--tenants")));
  if (options.has("--json")) {
    JsonWriter json;
    json.begin_object().member("done", done).end_object();
    print(std::move(json).take() + "\n");
  } else {
    print(done + "\n");
  }
  return 0;
}

constexpr std::string_view kHelp =
    "Usage: clrscope-fleet COMMAND [options]\n\n"
    "  serve    store requests of many hosts and answer queries\n"
    "  relay    deliver requests of this host to a server, or to a file\n"
    "  token    create a token for hosts or readers\n"
    "  migrate  create or update the tables of a ClickHouse store\n"
    "  check    compare the views of a ClickHouse store with its requests\n"
    "  replay   send recorded batches as if they came from many hosts\n"
    "  tenants  show what the tenants of a server use of their quotas\n"
    "  version  print the version\n\n"
    "clrscope-fleet COMMAND --help shows the options.\n";

Result<int> run_command(Words words) {
  if (words.empty()) return fail(Errc::kUsage, "a command is required").hint("see --help");
  const auto rest = words.subspan(1);
  if (words[0] == "serve") return serve(rest);
  if (words[0] == "relay") return relay_frames(rest);
  if (words[0] == "token") return token(rest);
  if (words[0] == "migrate") return migrate(rest);
  if (words[0] == "check") return check_command(rest);
  if (words[0] == "replay") return replay_command(rest);
  if (words[0] == "tenants") return list_tenants(rest);
  if (words[0] == "version" || words[0] == "--version") {
    print("clrscope-fleet " CLRSCOPE_VERSION "\n");
    return 0;
  }
  if (words[0] == "--help" || words[0] == "help") {
    print(kHelp);
    return 0;
  }
  return fail(Errc::kUsage, "unknown command {}", words[0]).hint("see --help");
}

}  // namespace

int run(Words words) {
  silence_protobuf();
  const auto done = run_command(words);
  if (done) return *done;
  log_error(done.error());
  return done.error().code == Errc::kUsage ? 3 : 1;
}

}  // namespace clrscope::fleet
