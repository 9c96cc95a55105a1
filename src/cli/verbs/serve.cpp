#include <sys/prctl.h>
#include <csignal>

#include "base/json.h"
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
     .help = "http://127.0.0.1:52323 unless told; also https://HOST:PORT and unix:PATH"},
    {.name = "--metric-urls",
     .value = "LIST",
     .help = "where only metrics are told; http://127.0.0.1:52325 unless told"},
    {.name = "--certificate",
     .value = "FILE",
     .help = "PEM, for https; read again when it changes"},
    {.name = "--certificate-key", .value = "FILE", .help = "its key, unless in the same file"},
    {.name = "--no-auth",
     .help = "no key is asked for: whoever reaches the address may do everything"},
    {.name = "--no-auth-remote",
     .help = "--no-auth for https addresses beyond loopback too: open to the network"},
    {.name = "--read-only", .help = "look at processes, record nothing"},
    {.name = "--allow",
     .value = "LIST",
     .help = "only these processes: pids, or names with * and ?"},
    {.name = "--keep-live",
     .value = "TIME",
     .help = "live data is kept so long after the last asker; 5m unless told"},
    {.name = "--base-path",
     .value = "PATH",
     .help = "what a proxy puts before our paths: /clrscope"},
    {.name = "--hosts",
     .value = "LIST",
     .help = "names by which the server may be called, beside loopback"},
    {.name = "--folder", .value = "DIR", .help = "keys, recordings, reports and the audit log"},
    {.name = "--disk-limit",
     .value = "SIZE",
     .help = "recordings, uploads and conversions together (default: 2GB)"},
    {.name = "--expand-limit",
     .value = "SIZE",
     .help = "one recording when it is read, decompressed (default: 4GB)"},
    {.name = "--read-cpu", .value = "TIME", .help = "CPU time to read one recording (default: 2m)"},
    {.name = "--sample-limit",
     .value = "COUNT",
     .help = "samples of one recording in memory (default: 8000000)"},
    {.name = "--diagnostic-port",
     .value = "PATH",
     .help = "PATH,listen: applications connect to it"},
    {.name = "--owner", .value = "PID", .help = "ends with this process, and shows only it"},
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
  setting.allow = words_of(args, "--allow", "");
  if (const auto keep = args.text("--keep-live")) setting.keep_live = TRY(parse_duration(*keep));
  setting.base_path = args.text("--base-path").value_or("");
  while (setting.base_path.ends_with('/')) setting.base_path.pop_back();
  if (!setting.base_path.empty() && !setting.base_path.starts_with('/'))
    return fail(Errc::kUsage, "--base-path {} does not begin with /", setting.base_path);
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
    setting.owner = static_cast<pid_t>(*owner);
  return setting;
}

void announce(http::Controller& controller, const Args& args, Console& console) {
  const auto once = controller.one_time_address();
  for (const auto& warning : controller.warnings()) console.talk("clrscope: {}", warning);
  if (args.has("--json")) {
    JsonWriter json;
    json.begin_object().key("urls").begin_array();
    for (const auto& one : controller.exposed())
      json.begin_object()
          .member("url", one.url)
          .member("metricsOnly", one.metrics_only)
          .end_object();
    json.end_array();
    if (!once.empty()) json.member("open", once);
    json.end_object();
    console.data(std::move(json).take() + "\n");
    return;
  }
  for (const auto& one : controller.exposed())
    console.talk("{}{}", one.url,
                 one.metrics_only ? "  metrics only"
                 : one.needs_key  ? "  with a key"
                                  : "");
  if (args.has("--no-auth") || args.has("--no-auth-remote"))
    console.talk("No key is asked for: whoever reaches these addresses may do everything.");
  if (!once.empty()) console.talk("Open in a browser, once, within 15 minutes:\n  {}", once);
}

Result<int> run(const Args& args, Console& console) {
  auto setting = TRY(setting_of(args));
  std::vector<pollfd> waits;
  UniqueFd owner;
  if (setting.owner) {
    owner = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, *setting.owner, 0))};
    if (!owner) return fail(errc_of(errno), "--owner {}: {}", *setting.owner, errno_text());
    waits.push_back({owner.get(), POLLIN, 0});
    if (::getppid() == *setting.owner) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  const StopRequest stop{EnterKey::kIgnored};
  for (const int fd : stop.fds()) waits.push_back({fd, POLLIN, 0});
  const auto controller = TRY(http::Controller::start(std::move(setting)));
  announce(*controller, args, console);
  while (::poll(waits.data(), waits.size(), 1000) == 0) controller->tick();
  return kDone;
}

const Options kOptions[] = {Options{kServe}, kCommonOptions};

}  // namespace

extern const Verb serve_verb{
    .name = "serve",
    .summary = "Answers over HTTP: traces, stacks, counters, pages",
    .usage = "[--urls LIST] [--no-auth] [--read-only] [--allow LIST]",
    .options = kOptions,
    .examples =
        "  clrscope serve\n"
        "  clrscope serve --urls https://0.0.0.0:52323 --certificate tls.pem --hosts api.local",
    .run = run,
};

}  // namespace clrscope::cli
