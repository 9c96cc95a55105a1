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
     .help = "only events that pass: 'name=GC/* Depth>=2 provider=Shop'"},
    {.name = "--duration", .value = "TIME", .help = "stop after this long: 30, 30s, 5m"},
};

Result<int> run(const Args& args, Console& console) {
  ops::EventsWish wish{.targets = TRY(watch_wish(args))};
  wish.providers = provider_words(args);
  wish.where = args.text("--where").value_or("");
  wish.json = args.has("--json");
  wish.duration = TRY(args.duration("--duration"));
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();
  bool waits = false;
  const auto summary = TRY(ops::watch_events(
      wish, {.on_text = [&](std::string_view text) { console.data(text); },
             .on_trouble = [&](const std::string& text) { console.talk("clrscope: {}", text); },
             .on_start =
                 [&](std::size_t processes) {
                   waits = processes == 0;
                   if (waits) console.talk("Waiting for a process to come …");
                 }}));
  console.talk("{} events  lost {}", format_count(summary.events), format_count(summary.lost));
  if (summary.events == 0 && !waits)
    console.talk(
        "  hint: a provider that nobody has and a field that no event has are silent: are the "
        "names "
        "right?");
  return kDone;
}

const Options kOptions[] = {kLiveTargetOptions, kProviderOptions, Options{kEvents}, kCommonOptions};

}  // namespace

extern const Verb events_verb{
    .name = "events",
    .summary = "Prints events as they happen, decoded, from one process or many",
    .usage = "-p PID|-n NAME|-a|-- COMMAND [--providers …] [--where FILTER] [--duration TIME]",
    .options = kOptions,
    .examples =
        "  clrscope events -p 4312 --clrevents gc --where 'name=GC/Start Depth>=1'\n"
        "  clrscope events -n 'Shop.*' --providers Shop-Orders --json | jq .payload",
    .run = run,
    .takes_command = true,
};

}  // namespace clrscope::cli
