#include "ops/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_reader.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/forward_text.h"
#include "cli/live_args.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/verb.h"
#include "ops/forward_config.h"

namespace clrscope::cli {
namespace {

constexpr Option kForward[] = {
    {.name = "--to",
     .value = "SINK",
     .help = "destination: KIND:TARGET[,option=value]; may be repeated; see docs/forwarding.md"},
    {.name = "--counters",
     .value = "LIST",
     .help = "counters and meters to send: Provider[a,b],Meter"},
    {.name = "--where", .value = "FILTER", .help = "filter on events: 'name=GC/* Depth>=2'"},
    {.name = "--stacks",
     .help = "stack of each event with method names (ndjson, file and ctf only)"},
    {.name = "--refresh-interval", .value = "S", .help = "seconds between values (default: 1)"},
    {.name = "--config",
     .value = "FILE",
     .help = "configuration file with processes, requests and sinks; reloaded on SIGHUP"},
    {.name = "--spool",
     .value = "DIR",
     .help = "folder that buffers data while a sink is unavailable"},
    {.name = "--spool-limit",
     .value = "SIZE",
     .help = "maximum size of the spool per sink (default: 1GiB)"},
    {.name = "--status", .help = "state of the running forwards and their losses"},
    {.name = "--duration",
     .value = "TIME",
     .help = "time after which it ends: 30, 30s, 5m (default: until stopped)"},
};

Result<ops::ForwardPlan> plan_of(const Args& args) {
  ops::ForwardPlan plan;
  if (const auto file = args.text("--config")) {
    if (args.has("--to"))
      return fail(Errc::kUsage, "both --config and --to given")
          .hint("define the sinks in the configuration file, one section each");
    for (const auto* name :
         {"--process-id", "--name", "--all", "--diagnostic-port", "--counters", "--where",
          "--stacks", "--refresh-interval", "--max-histograms", "--max-time-series", "--profile",
          "--providers", "--clrevents", "--clreventlevel"})
      if (args.has(name))
        return fail(Errc::kUsage, "both --config and {} given", name)
            .hint("set it in {}; docs/forwarding.md lists the keys", *file);
    plan = TRY(ops::read_forward_config(*file));
  } else {
    ops::RouteWords words{.targets = TRY(watch_request(args)), .counters = args.all("--counters")};
    words.providers = provider_words(args);
    words.where = args.text("--where").value_or("");
    words.stacks = args.has("--stacks");
    words.interval =
        std::chrono::seconds{TRY(args.number("--refresh-interval", 1, 3600)).value_or(1)};
    words.limits = plan.limits = TRY(meter_limits(args));
    if (!args.has("--to"))
      return fail(Errc::kUsage, "--to is required")
          .hint("use --to KIND:TARGET, such as {}", sink_examples());
    for (const auto& to : args.all("--to")) {
      words.to = to;
      plan.routes.push_back(TRY(ops::route_of(words)));
    }
  }
  if (const auto spool = args.text("--spool")) plan.spool = *spool;
  if (const auto limit = TRY(args.size("--spool-limit"))) plan.spool_limit = *limit;
  std::set<std::string> sinks;
  for (const auto& route : plan.routes)
    if (!sinks.insert(route.to.identity).second && !plan.spool.empty())
      return fail(Errc::kUsage, "--to {} given twice: both would share one spool", route.to.text)
          .hint("remove one, or give one a different option, such as another prefix");
  return plan;
}

Result<int> show_status(const Args& args, Console& console) {
  std::optional<pid_t> pid;
  if (const auto word = TRY(args.number("--process-id", 1, 0x7fffffff)))
    pid = static_cast<pid_t>(*word);
  const auto states = TRY(ops::forward_states(pid));
  if (args.has("--json")) {
    for (const auto& state : states) console.data(state);
    return kDone;
  }
  if (states.empty()) console.talk("You have no running forwards.");
  for (const auto& state : states) console.data(forward_text(TRY(read_json(state))));
  return kDone;
}

// Its peer took nothing from the first to the last moment.
void tell_undelivered(const ops::ForwardStatus::Sink& sink, bool spooled, Console& console) {
  const auto& why = sink.summary.last_failure;
  console.talk("clrscope: {}: nothing was delivered: {}\n  hint: {}; {}", sink.to,
               why.empty() ? "the peer accepted nothing in time" : why,
               "check the address and that a server listens there",
               spooled ? "the spool keeps the data for the next forward to the same sink"
                       : "use --spool DIR to keep data while the peer is unavailable");
}

Result<int> run(const Args& args, Console& console) {
  if (args.has("--status")) return show_status(args, console);
  ops::ForwardRequest request{.plan = TRY(plan_of(args))};
  request.config = args.text("--config").value_or("");
  if (!request.config.empty()) request.read_plan = [&] { return plan_of(args); };
  request.duration = TRY(args.duration("--duration"));
  const StopRequest stop{EnterKey::kIgnored, Hangup::kReloads};
  request.stop_fds = stop.fds();
  request.reload_fd = stop.reload_fd();
  const auto summary = TRY(ops::forward(
      request, {.on_start =
                    [&](const ops::ForwardStatus& status) {
                      if (status.processes.empty())
                        console.talk("Waiting for a process to start …");
                      for (const auto& sink : status.sinks)
                        console.talk("{}{}{}", sink.to, sink.summary.state.empty() ? "" : "  ",
                                     sink.summary.state);
                    },
                .on_trouble = [&](const std::string& text) { console.talk("clrscope: {}", text); },
                .on_reload =
                    [&](const Result<>& done) {
                      if (done)
                        console.talk("Reloaded {}.",
                                     request.config.empty() ? "nothing" : request.config);
                      else
                        console.talk("clrscope: {}\n  hint: {}{}the old configuration stays active",
                                     done.error().what, done.error().hint,
                                     done.error().hint.empty() ? "" : "; ");
                    }}));
  bool failed = false;
  for (const auto& sink : summary.last.sinks) {
    const auto& one = sink.summary;
    console.talk("{}  {} events  {} values  dropped {}  lost {}{}{}{}", sink.to,
                 format_count(one.events), format_count(one.counters), format_count(one.dropped),
                 format_count(one.lost), one.state.empty() ? "" : "  ", one.state,
                 one.failures == 0
                     ? ""
                     : fmt::format("  {} failure{}, last: {}", format_count(one.failures),
                                   one.failures == 1 ? "" : "s", one.last_failure));
    const bool nothing =
        one.delivered ? *one.delivered == 0 : one.failures != 0 && one.events + one.counters == 0;
    if (nothing && one.delivered) tell_undelivered(sink, !request.plan.spool.empty(), console);
    failed = failed || nothing;
  }
  if (args.has("--json")) {
    auto text = summary.last.json();
    const bool taken = std::ranges::any_of(
        summary.last.sinks, [](const auto& sink) { return sink.to.starts_with("ndjson:-"); });
    if (taken)  // by the events themselves
      console.talk(trim(text));
    else
      console.data(text);
  }
  return failed ? kFailedWhileRunning : kDone;
}

const Options kOptions[] = {kLiveTargetOptions, Options{kForward}, kMeterLimitOptions,
                            kProviderOptions, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ops::ForwardStatus>(JsonAnswer::Form::kLines)};

}  // namespace

extern const Verb forward_verb{
    .name = "forward",
    .summary = "Forward events and counters to Graphite, Prometheus, OTLP and other sinks",
    .usage =
        "-p PID|-n NAME|-a|-- COMMAND --to SINK [--to SINK …] [--counters …]; or --config FILE",
    .options = kOptions,
    .examples =
        "  clrscope forward -n 'Shop.*' --to graphite:127.0.0.1:2003 --to prometheus\n"
        "  clrscope forward -a --clrevents gc --to ndjson:- --duration 1m",
    .run = run,
    .takes_command = true,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
