#include <sys/prctl.h>
#include <csignal>

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/stop_request.h"
#include "cli/verb.h"
#include "http/controller.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace clrscope::cli {
namespace {

constexpr const char* kUrl = "http://127.0.0.1:52323";
constexpr const char* kMetricUrl = "http://127.0.0.1:52325";

constexpr Option kServe[] = {
    {.name = "--urls",
     .value = "LIST",
     .help =
         "addresses: http://…, https://HOST:PORT or unix:PATH (default: http://127.0.0.1:52323)"},
    {.name = "--metric-urls",
     .value = "LIST",
     .help = "addresses that serve only metrics (default: http://127.0.0.1:52325)"},
    {.name = "--certificate",
     .value = "FILE",
     .help = "PEM certificate for https; reloaded when it changes"},
    {.name = "--certificate-key",
     .value = "FILE",
     .help = "private key of the certificate (default: in the certificate file)"},
    {.name = "--no-auth", .help = "no authentication: anyone who can connect has full access"},
    {.name = "--no-auth-remote",
     .help = "no authentication on https addresses beyond loopback either: open to the network"},
    {.name = "--read-only", .help = "no recordings, dumps or other changes"},
    {.name = "--allow",
     .value = "LIST",
     .help = "processes to show: pids, or names with * and ? (default: all)"},
    {.name = "--keep-live",
     .value = "TIME",
     .help = "how long live data is kept after the last request (default: 5m)"},
    {.name = "--base-path",
     .value = "PATH",
     .help = "path prefix added by a reverse proxy, such as /clrscope"},
    {.name = "--hosts",
     .value = "LIST",
     .help = "additional host names that requests may use, besides loopback"},
    {.name = "--folder",
     .value = "DIR",
     .help = "folder for keys, recordings, reports and the audit log"},
    {.name = "--disk-limit",
     .value = "SIZE",
     .help =
         "maximum disk space for recordings, uploads, conversions and request profiles (default: "
         "2GB)"},
    {.name = "--expand-limit",
     .value = "SIZE",
     .help = "maximum decompressed size of a recording (default: 4GB)"},
    {.name = "--read-cpu",
     .value = "TIME",
     .help = "maximum CPU time to read a recording (default: 2m)"},
    {.name = "--sample-limit",
     .value = "COUNT",
     .help = "maximum number of samples of a recording in memory (default: 8000000)"},
    {.name = "--diagnostic-port",
     .value = "PATH",
     .help = "diagnostic port that applications connect to: PATH,listen"},
    {.name = "--owner", .value = "PID", .help = "process to show; the server ends when it ends"},
};

std::vector<std::string> words_of(const Args& args, std::string_view option,
                                  const std::string& otherwise) {
  std::vector<std::string> out;
  for (const auto& list : args.all(option))
    for (const auto word : split(list, ','))
      if (!trim(word).empty()) out.emplace_back(trim(word));
  if (out.empty() && !otherwise.empty() && !args.has(option)) out.push_back(otherwise);
  return out;
}

Result<http::ServeSetting> setting_of(const Args& args) {
  http::ServeSetting setting;
  setting.urls = words_of(args, "--urls", kUrl);
  setting.metric_urls = words_of(args, "--metric-urls", args.has("--urls") ? "" : kMetricUrl);
  setting.certificate = args.text("--certificate").value_or("");
  setting.certificate_key = args.text("--certificate-key").value_or("");
  setting.no_auth_remote = args.has("--no-auth-remote");
  setting.no_auth = args.has("--no-auth") || setting.no_auth_remote;
  setting.read_only = args.has("--read-only");
  setting.visible.allow = words_of(args, "--allow", "");
  if (const auto keep = args.text("--keep-live")) setting.keep_live = TRY(parse_duration(*keep));
  setting.base_path = args.text("--base-path").value_or("");
  while (setting.base_path.ends_with('/')) setting.base_path.pop_back();
  if (!setting.base_path.empty() && !setting.base_path.starts_with('/'))
    return fail(Errc::kUsage, "--base-path {} must start with /", setting.base_path);
  setting.hosts = words_of(args, "--hosts", "");
  setting.folder = args.text("--folder").value_or("");
  if (const auto limit = TRY(args.size("--disk-limit"))) setting.disk_limit = *limit;
  if (const auto limit = TRY(args.size("--expand-limit"))) setting.expand_limit = *limit;
  if (const auto time = args.text("--read-cpu"))
    setting.read_cpu = std::chrono::ceil<std::chrono::seconds>(TRY(parse_duration(*time)));
  if (const auto count = TRY(args.number("--sample-limit", 1, 4'000'000'000)))
    setting.sample_limit = static_cast<std::uint64_t>(*count);
  setting.diagnostic_port = args.text("--diagnostic-port").value_or("");
  if (const auto owner = TRY(args.number("--owner", 1, 0x7fffffff)))
    setting.visible.owner = static_cast<pid_t>(*owner);
  return setting;
}

struct AddressAnswer {
  std::string url{};
  bool metrics_only = false;
};
const Shape& shape_of(const AddressAnswer*) {
  using A = AddressAnswer;
  static const auto shape =
      describe<A>("ServeAddress", "an address the server listens on",
                  {member<&A::url>("url", "address, with the real port"),
                   member<&A::metrics_only>("metricsOnly", "whether it serves only metrics")});
  return shape;
}

struct ServeAnswer {
  std::vector<AddressAnswer> urls{};
  std::optional<std::string> open{};
};
const Shape& shape_of(const ServeAnswer*) {
  using A = ServeAnswer;
  static const auto shape =
      describe<A>("Serve", "a server that has started",
                  {member<&A::urls>("urls", "addresses it listens on"),
                   member<&A::open>("open", "one-time address for a browser")});
  return shape;
}

void announce(http::Controller& controller, const Args& args, Console& console) {
  const auto once = controller.one_time_address();
  for (const auto& warning : controller.warnings()) console.talk("clrscope: {}", warning);
  if (args.has("--json")) {
    ServeAnswer answer{.open = unless_empty(once)};
    for (const auto& one : controller.exposed()) answer.urls.push_back({one.url, one.metrics_only});
    console.data(json_line(answer));
    return;
  }
  for (const auto& one : controller.exposed())
    console.talk("{}{}", one.url,
                 one.metrics_only ? "  metrics only"
                 : one.needs_key  ? "  key required"
                                  : "");
  if (args.has("--no-auth") || args.has("--no-auth-remote"))
    console.talk("No authentication: anyone who can connect to these addresses has full access.");
  if (!once.empty()) console.talk("Open in a browser (works once, for 15 minutes):\n  {}", once);
}

Result<int> run(const Args& args, Console& console) {
  auto setting = TRY(setting_of(args));
  std::vector<pollfd> waits;
  UniqueFd owner;
  if (setting.visible.owner) {
    owner = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, *setting.visible.owner, 0))};
    if (!owner) return fail(errc_of(errno), "--owner {}: {}", *setting.visible.owner, errno_text());
    waits.push_back({owner.get(), POLLIN, 0});
    if (::getppid() == *setting.visible.owner) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  const StopRequest stop{EnterKey::kIgnored};
  for (const int fd : stop.fds()) waits.push_back({fd, POLLIN, 0});
  const auto controller = TRY(http::Controller::start(std::move(setting)));
  announce(*controller, args, console);
  while (::poll(waits.data(), waits.size(), 1000) == 0) controller->tick();
  return kDone;
}

const Options kOptions[] = {Options{kServe}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ServeAnswer>()};

}  // namespace

extern const Verb serve_verb{
    .name = "serve",
    .summary = "Serve traces, stacks, counters and web pages over HTTP",
    .usage = "[--urls LIST] [--no-auth] [--read-only] [--allow LIST]",
    .options = kOptions,
    .examples =
        "  clrscope serve\n"
        "  clrscope serve --urls https://0.0.0.0:52323 --certificate tls.pem --hosts api.local",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
