#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/args.h"
#include "cli/console.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/request_demo.h"
#include "ops/request_profile.h"

namespace clrscope::cli {
namespace {

constexpr std::size_t kRows = 30;
constexpr std::size_t kLiveRows = 15;

constexpr Option kRequests[] = {
    {.name = "--include",
     .value = "PATTERN",
     .help = "methods to time: a namespace, type or method, * matches any text; or '[ATTRIBUTE]'; "
             "repeatable"},
    {.name = "--exclude", .value = "PATTERN", .help = "methods not to time; repeatable"},
    {.name = "--min-il", .value = "BYTES", .help = "smallest IL size to time (default: 0)"},
    {.name = "--accessors", .help = "time trivial getters and setters too"},
    {.name = "--sample",
     .value = "P",
     .help = "share of requests with spans: 0 to 1, or auto, within --budget (default: auto)"},
    {.name = "--budget",
     .value = "PERCENT",
     .help = "CPU time of the process that --sample auto may cost, 1 to 50 (default: 1)"},
    {.name = "--method-budget",
     .value = "PERCENT",
     .help = "of a CPU that the probes of one method may cost; 0: any (default: 2)"},
    {.name = "--duration",
     .value = "TIME",
     .help = "how long to profile (default: 10s; until Ctrl+C with --to, or --demo on a terminal)"},
    {.name = "--to",
     .value = "URL",
     .help = "also sends all requests to a fleet server: grpc://HOST:PORT, grpcs:// with TLS; or "
             "writes them to a new file for fleet replay: file:PATH"},
    {.name = "--token-file", .value = "FILE", .help = "holds the token for that server"},
    {.name = "--ca", .value = "FILE", .help = "PEM certificates to trust (default: the system's)"},
    {.name = "--spool",
     .value = "DIR",
     .help = "where requests wait for that server (default: in memory)"},
    {.name = "--service",
     .value = "NAME",
     .help = "name of the service there (default: the name of the process)"},
    {.name = "--service-version", .value = "TEXT", .help = "its version"},
    {.name = "--own-configuration",
     .help = "keeps the patterns, sampling and budget of this command, whatever that server says"},
    {.name = "--change-timeout",
     .value = "TIME",
     .help = "how long a change of them by that server may take; then it is undone (default: 2m)"},
    {.name = "--output",
     .value = "FILE",
     .help = "also writes a .nettrace file, with CPU samples: see clrscope report FILE requests",
     .letter = 'o'},
    {.name = "--no-samples", .help = "takes no CPU samples, for the file or the fleet server"},
    {.name = "--rate",
     .value = "HZ",
     .help = "CPU samples per second for the fleet server (default: 99)"},
    {.name = "--request",
     .value = "TRACEID",
     .help = "shows this request alone; the beginning of its trace id is enough"},
    {.name = "--demo",
     .help = "starts the sample shop and load for it, on loopback, and profiles that; ends both"},
    {.name = "--ascii", .help = "draws the waterfall without Unicode characters"},
};

// Somebody looks at the table of routes.
bool is_watched(const Args& args) { return ::isatty(STDOUT_FILENO) == 1 && !args.has("--json"); }

// The table of routes while requests are profiled: drawn over the last one.
class LiveRoutes {
 public:
  explicit LiveRoutes(Console& console) : console_(console) {}

  void show(const ops::RequestProfile& profile) {
    auto style = console_.text_style();
    const auto text = answer::page_text(ops::routes_document(profile, kLiveRows), style);
    console_.redraw(lines_, text);
    lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
  void clear() {
    if (lines_ > 0) console_.redraw(lines_, "");
    lines_ = 0;
  }

 private:
  Console& console_;
  std::size_t lines_ = 0;
};

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<ops::ProfileRequest> request_of(const Args& args) {
  ops::ProfileRequest request{.include = args.all("--include"),
                              .exclude = args.all("--exclude"),
                              .with_accessors = args.has("--accessors")};
  request.smallest_il =
      static_cast<std::uint32_t>(TRY(args.number("--min-il", 0, 1 << 20)).value_or(0));
  if (!args.has("--demo")) request.listen.target = TRY(target_request(args));
  request.listen.duration =
      TRY(args.duration("--duration"))
          .value_or(args.has("--to") || (args.has("--demo") && is_watched(args))
                        ? std::chrono::nanoseconds{std::chrono::hours{24 * 365}}
                        : std::chrono::nanoseconds{std::chrono::seconds{10}});
  if (request.listen.duration.count() <= 0)
    return fail(Errc::kUsage, "--duration must be greater than zero: {}",
                args.text("--duration").value_or(""))
        .hint("use a time such as --duration 30s");
  request.sampling.probability =
      TRY(ops::parse_probability(args.text("--sample").value_or("auto")));
  if (const auto budget = TRY(args.number("--budget", 1, 50)))
    request.sampling.budget_percent = static_cast<double>(*budget);
  if (const auto percent = TRY(args.number("--method-budget", 0, 100)))
    request.method_percent = static_cast<double>(*percent);
  // A secret: not an argument, which every user of the machine can read.
  if (const char* key = std::getenv("CLRSCOPE_DEBUG_KEY")) request.sampling.debug_key = key;
  if (const auto to = args.text("--to"))
    request.uplink = ops::UplinkRequest{.to = *to,
                                        .token_file = args.text("--token-file").value_or(""),
                                        .ca_file = args.text("--ca").value_or(""),
                                        .spool = args.text("--spool").value_or(""),
                                        .service = args.text("--service").value_or(""),
                                        .version = args.text("--service-version").value_or(""),
                                        .central = !args.has("--own-configuration")};
  if (request.uplink && request.uplink->is_file()) {
    request.uplink->central = false;
    for (const auto* name : {"--token-file", "--ca", "--spool", "--change-timeout"})
      if (args.has(name))
        return fail(Errc::kUsage, "{} applies to a server, not to a file: --to {}", name,
                    request.uplink->to)
            .hint("leave out {}, or name a server, such as --to grpc://HOST:PORT", name);
  }
  if (const auto timeout = TRY(args.duration("--change-timeout"))) {
    if (!request.uplink)
      return fail(Errc::kUsage, "--change-timeout requires --to")
          .hint("leave it out, or name a server with --to");
    if (timeout->count() <= 0)
      return fail(Errc::kUsage, "--change-timeout must be greater than zero: {}",
                  args.text("--change-timeout").value_or(""))
          .hint("use a time such as --change-timeout 30s");
    request.uplink->change_timeout = *timeout;
  }
  if (const auto rate = TRY(args.number("--rate", 1, 10'000))) {
    if (!request.uplink)
      return fail(Errc::kUsage, "--rate requires --to")
          .hint("leave out --rate, or name a server with --to");
    request.uplink->rate = static_cast<unsigned>(*rate);
  }
  request.output = args.text("--output").value_or("");
  if (request.output == "-")
    return fail(Errc::kUsage, "requests cannot write a recording to stdout: -o -")
        .hint("name a file, such as -o requests.nettrace");
  request.samples = !args.has("--no-samples");
  request.trace_id = args.text("--request").value_or("");
  if (args.has("--request") && !is_hexadecimal(request.trace_id))
    return fail(Errc::kUsage, "--request must be a trace id: {}", request.trace_id)
        .hint("use 32 hexadecimal digits, or the first of them");
  return request;
}

Result<int> print(const Args& args, Console& console, const ops::RequestProfile& profile) {
  const auto style =
      args.has("--ascii") ? ops::WaterfallStyle::kAscii : ops::WaterfallStyle::kUnicode;
  const ops::ProfiledRequest* one = nullptr;
  if (const auto wanted = args.text("--request")) {
    one = ops::find_request(profile, *wanted);
    if (!one)
      return fail(Errc::kNotFound, "no sampled request has the trace id {}", *wanted)
          .hint("use --sample 1 to sample every request");
  }
  if (args.has("--json")) {
    if (one) {
      auto alone = profile;
      alone.requests = {*one};
      console.data(json_line(alone));
    } else {
      console.data(json_line(profile));
    }
    return kDone;
  }
  auto text = console.text_style();
  if (::isatty(STDOUT_FILENO) != 1) text.width = answer::kWholeLines;  // routes stay whole
  console.data(answer::page_text(
      one ? ops::request_document(*one, style) : ops::requests_document(profile, kRows, style),
      text));
  return kDone;
}

// The sample shop, if it is asked for, as what the request is about.
Result<std::optional<ops::RequestDemo>> start_demo(const Args& args, Console& console,
                                                   ops::ProfileRequest& request) {
  if (!args.has("--demo")) return std::optional<ops::RequestDemo>{};
  if (args.has("--process-id") || args.has("--name") || args.has("--diagnostic-port"))
    return fail(Errc::kUsage, "--demo starts a process of its own: {} names another one",
                args.has("--process-id") ? "--process-id"
                : args.has("--name")     ? "--name"
                                         : "--diagnostic-port")
        .hint("leave out --demo, or the other process");
  std::optional<ops::RequestDemo> demo{TRY(ops::RequestDemo::start(request.listen.stop_fds))};
  request.listen.target.pid = demo->pid();
  if (request.include.empty()) request.include = {ops::RequestDemo::kInclude};
  console.talk("The sample shop runs as process {} at {}, with {} requests per second.",
               demo->pid(), demo->address(), ops::RequestDemo::kRate);
  return demo;
}

Result<int> run(const Args& args, Console& console) {
  const StopRequest stop{EnterKey::kStops};
  auto request = TRY(request_of(args));
  request.listen.stop_fds = stop.fds();
  const auto demo = TRY(start_demo(args, console, request));
  ops::ProfileWatcher watcher;
  LiveRoutes live{console};
  watcher.on_start = [&] { console.talk("Profiling requests. Press Ctrl+C to stop."); };
  if (is_watched(args))
    watcher.on_status = [&](const ops::RequestProfile& profile) { live.show(profile); };
  const auto profile = ops::profile_requests(request, watcher);
  live.clear();
  if (!profile) return fail(profile.error());
  return print(args, console, *profile);
}

const Options kOptions[] = {kTargetOptions, Options{kRequests}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ops::RequestProfile>()};

}  // namespace

extern const Verb requests_verb{
    .name = "requests",
    .summary = "Profile HTTP requests of an ASP.NET Core app: routes, spans of methods, waits",
    .usage = "(-p PID | -n NAME | --demo) --include PATTERN [options]",
    .options = kOptions,
    .examples =
        "  clrscope requests -p 4312 --include 'Shop.*' --duration 30s\n"
        "  clrscope requests -n Shop --include Shop --to grpc://127.0.0.1:52330",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
