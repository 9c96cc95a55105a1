#include "ops/events.h"

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/live_args.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kEvents[] = {
    {.name = "--where",
     .value = "FILTER",
     .help = "filter on events: 'name=GC/* Depth>=2 provider=Shop'"},
    {.name = "--duration",
     .value = "TIME",
     .help = "time after which it ends: 30, 30s, 5m (default: until stopped)"},
};

Result<int> run(const Args& args, Console& console) {
  ops::EventsRequest request{.targets = TRY(watch_request(args))};
  request.providers = provider_words(args);
  request.where = args.text("--where").value_or("");
  request.json = args.has("--json");
  request.duration = TRY(args.duration("--duration"));
  const StopRequest stop{EnterKey::kStops};
  request.stop_fds = stop.fds();
  bool waits = false;
  const auto summary = TRY(ops::watch_events(
      request, {.on_text = [&](std::string_view text) { console.data(text); },
                .on_trouble = [&](const std::string& text) { console.talk("clrscope: {}", text); },
                .on_start =
                    [&](std::size_t processes) {
                      waits = processes == 0;
                      if (waits) console.talk("Waiting for a process to start …");
                    }}));
  console.talk("{} events  lost {}", format_count(summary.events), format_count(summary.lost));
  if (summary.events == 0 && !waits)
    console.talk("  hint: check the names of providers and fields; unknown names match nothing");
  return kDone;
}

const Options kOptions[] = {kLiveTargetOptions, kProviderOptions, Options{kEvents}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {{.form = JsonAnswer::Form::kLines, .shape = ops::event_shape}};

}  // namespace

extern const Verb events_verb{
    .name = "events",
    .summary = "Print decoded events of one or more processes as they happen",
    .usage = "-p PID|-n NAME|-a|-- COMMAND [--providers …] [--where FILTER] [--duration TIME]",
    .options = kOptions,
    .examples =
        "  clrscope events -p 4312 --clrevents gc --where 'name=GC/Start Depth>=1'\n"
        "  clrscope events -n 'Shop.*' --providers Shop-Orders --json | jq .payload",
    .run = run,
    .takes_command = true,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
