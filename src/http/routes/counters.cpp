// Counters and meters of a process: as they are, with their history, and as they come.
#include "ops/counters.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMostHistory = 600;

bool has_brace(const Call& call, std::string_view name) {
  return call.admitted().route->path.find(name) != std::string_view::npos;
}

Result<live::CountersAsk> ask_of(const Call& call, bool& points) {
  live::CountersAsk ask;
  if (has_brace(call, "{provider}")) ask.choice.provider = call.path_value("provider");
  if (has_brace(call, "{name}")) ask.choice.name = call.path_value("name");
  if (const auto words = call.text("counters")) ask.counters = TRY(ops::parse_counters({*words}));
  auto length = TRY(call.number("history", 0, 86'400)).value_or(0);
  if (length == 1) length = kMostHistory;  // "history=1": with it
  length = TRY(call.number("seconds", 1, 86'400)).value_or(length);
  points = length != 0;
  ask.length = seconds{length == 0 ? kMostHistory : length};
  return ask;
}

Result<> serve(Call& call) {
  bool points = false;
  const auto ask = TRY(ask_of(call, points));
  const auto who = TRY(chosen_live(call));
  auto& live = call.services().live;
  if (call.wants(kEventStream) || call.wants(kNdjson)) {
    StreamOptions options{.duration = TRY(stream_duration(call, -1))};
    auto counters = ask.counters;
    if (counters.empty() && !ask.choice.provider.empty())
      counters.push_back({.provider = ask.choice.provider});
    options.feeds.push_back(live.counters_of(std::move(counters)));
    const bool all = ask.choice.provider.empty();
    options.render = [choice = ask.choice, all,
                      events = call.wants(kEventStream)](const live::LiveItem& item) {
      if (events && all) return item.json;
      return events ? live::counters_array(item.counters, choice)
                    : live::counter_lines(item.counters, choice);
    };
    if (const auto last = call.request().field("Last-Event-ID")) options.after = std::string{*last};
    serve_stream(std::move(call), who, std::move(options));
    return {};
  }
  const auto answer = live.counters(who, ask);
  if (!answer) return call.send(live_problem(answer.error())), Result<>{};
  if (answer->series.empty() && !ask.choice.provider.empty())
    return fail(Errc::kNotFound, "process {} told no counter {}{}{}", who.pid, ask.choice.provider,
                ask.choice.name.empty() ? "" : "/", ask.choice.name)
        .hint("GET /counters lists those it tells; a name that was never told takes an interval");
  call.send(call.wants(kText) ? text_answer(live::counters_text(*answer))
                              : json_answer(live::counters_json(*answer, points)));
  return {};
}

void counters(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

constexpr std::string_view kTypes =
    "application/json text/plain text/event-stream application/x-ndjson";

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "counters",
     .type = "string",
     .help = "only these: Provider[first,second],Shop.*; default: all"},
    {.name = "history",
     .type = "integer",
     .help = "with the points of the last seconds; 1: all of them"},
    {.name = "seconds", .type = "integer", .help = "the same as history"},
    {.name = "durationSeconds", .type = "integer", .help = "length of the stream; -1: no end"},
};
constexpr Parameter kProviderParameters[] = {
    {.name = "provider",
     .type = "string",
     .help = "EventSource or meter",
     .in = Parameter::In::kPath},
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "history",
     .type = "integer",
     .help = "with the points of the last seconds; 1: all of them"},
    {.name = "durationSeconds", .type = "integer", .help = "length of the stream; -1: no end"},
};
constexpr Parameter kNameParameters[] = {
    {.name = "provider",
     .type = "string",
     .help = "EventSource or meter",
     .in = Parameter::In::kPath},
    {.name = "name",
     .type = "string",
     .help = "the counter or instrument",
     .in = Parameter::In::kPath},
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "history",
     .type = "integer",
     .help = "with the points of the last seconds; 1: all of them"},
    {.name = "durationSeconds", .type = "integer", .help = "length of the stream; -1: no end"},
};

constexpr StreamEvent kEvents[] = {
    {.name = "counters", .data = value_shape<std::vector<live::CounterLine>>},
    {.name = "missed", .data = value_shape<StreamMissed>},
    {.name = "end", .data = value_shape<StreamEnd>},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/counters",
     .scope = Scope::kRead,
     .summary = "All counters and meters of a process: now, with history, or as a stream",
     .types = kTypes,
     .parameters = kParameters,
     .serve = counters,
     .json = value_shape<live::CountersJson>,
     .line = value_shape<live::CounterLine>,
     .events = kEvents,
     .live_types = "text/event-stream application/x-ndjson",
     .statuses = "400 404 410 429"},
    {.method = "GET",
     .path = "/counters/{provider}",
     .scope = Scope::kRead,
     .summary = "The counters of one provider or meter",
     .types = kTypes,
     .parameters = kProviderParameters,
     .serve = counters,
     .json = value_shape<live::CountersJson>,
     .line = value_shape<live::CounterLine>,
     .events = kEvents,
     .live_types = "text/event-stream application/x-ndjson",
     .statuses = "400 404 410 429"},
    {.method = "GET",
     .path = "/counters/{provider}/{name}",
     .scope = Scope::kRead,
     .summary = "One counter, all its series",
     .types = kTypes,
     .parameters = kNameParameters,
     .serve = counters,
     .json = value_shape<live::CountersJson>,
     .line = value_shape<live::CounterLine>,
     .events = kEvents,
     .live_types = "text/event-stream application/x-ndjson",
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes counters_routes{kRoutes};

}  // namespace clrscope::http
