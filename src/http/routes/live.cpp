// Everything live in one stream of server-sent events that can be resumed; and who follows what.
#include <fmt/format.h>

#include "base/text.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "live/item_shapes.h"
#include "live/topic.h"
#include "ops/counters.h"
#include "ops/events.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

// What the program says of itself is for those who may record it.
constexpr ValueScope kTopicScopes[] = {{"logs", Scope::kTrace}, {"events", Scope::kTrace}};

Result<live::FeedRequest> feed_of(const Call& call, std::string_view name) {
  for (const auto& [topic, scope] : kTopicScopes)
    if (name == topic) TRY(call.need(scope, fmt::format("the topic {}", topic)));
  auto& live = call.services().live;
  if (name == "counters") {
    return live.counters_of(TRY(ops::parse_counters({call.text("counters").value_or("")})));
  }
  if (name == "logs") return live::logs_feed({});
  if (name == "events") {
    const auto providers = call.text("providers");
    if (!providers || providers->empty())
      return fail(Errc::kUsage, "topics=events needs providers=Name[ids][:keywords[:level]],…");
    const auto where = call.text("where").value_or("");
    return live::events_feed(TRY(ops::event_providers({.providers = {*providers}})),
                             TRY(live::parse_where(where)), where);
  }
  if (const auto topic = live::find_topic(name))
    return live::runtime_feed(*topic, messages_for(call));
  return fail(Errc::kUsage, "topics: unknown topic {}", name)
      .hint("counters, gc, jit, exceptions, contention, threadpool, thread-starts, logs, events");
}

Result<> serve(Call& call) {
  StreamOptions options{.render = [](const live::LiveItem& item) { return item.json; },
                        .duration = TRY(stream_duration(call, -1))};
  const auto topics = call.text("topics").value_or("counters");
  for (const auto name : split(topics, ','))
    if (!trim(name).empty()) options.feeds.push_back(TRY(feed_of(call, trim(name))));
  if (options.feeds.empty()) return fail(Errc::kUsage, "topics is empty");
  if (const auto last = call.request().field("Last-Event-ID"))
    options.after = std::string{*last};
  else
    options.after = call.text("lastEventId");
  const auto who = TRY(chosen_live(call));
  serve_stream(std::move(call), who, std::move(options));
  return {};
}

void live(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

Result<HttpResponse> status(Call& call) {
  return answer_with(live::answer_of(call.services().live.status()));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "topics",
     .type = "string",
     .help = "counters,gc,jit,exceptions,contention,threadpool,thread-starts,logs,events "
             "(default: counters)",
     .scopes = kTopicScopes},
    {.name = "counters", .type = "string", .help = "more of them: Provider[first,second],Meter"},
    {.name = "providers",
     .type = "string",
     .help = "of events: Name[:keywords[:level]],…; only events 1 and 5: Name[1,5]"},
    {.name = "where", .type = "string", .help = "of events: name=GC/* Depth>=2"},
    {.name = "lastEventId", .type = "string", .help = "as the field Last-Event-ID: go on after it"},
    {.name = "durationSeconds",
     .type = "integer",
     .help = "length of the stream; -1: no end (default: -1)"},
};

constexpr StreamEvent kEvents[] = {
    {.name = "counters", .data = value_shape<std::vector<live::CounterLine>>, .gaps = true},
    {.name = "gc", .data = value_shape<live::GcItem>, .gaps = true},
    {.name = "jit", .data = value_shape<live::JitItem>, .gaps = true},
    {.name = "exceptions", .data = value_shape<live::ExceptionItem>, .gaps = true},
    {.name = "contention", .data = value_shape<live::ContentionItem>, .gaps = true},
    {.name = "threadpool", .data = value_shape<live::ThreadPoolItem>, .gaps = true},
    {.name = "thread-starts", .data = value_shape<live::ThreadItem>, .gaps = true},
    {.name = "logs", .data = value_shape<live::LogEntry>, .gaps = true},
    {.name = "events", .data = value_shape<live::EventLine>, .gaps = true},
    {.name = "missed", .data = value_shape<StreamMissed>},
    {.name = "end", .data = value_shape<StreamEnd>},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/live",
     .scope = Scope::kRead,
     .summary = "What a process does, as server-sent events that can be resumed; messages of "
                "exceptions need the scope trace",
     .types = kEventStream,
     .parameters = kParameters,
     .serve = live,
     .events = kEvents,
     .live_types = kEventStream,
     .statuses = "400 403 404 410 429"},
    {.method = "GET",
     .path = "/live/status",
     .scope = Scope::kRead,
     .summary = "Which processes are followed: sessions in them, followers, what was lost",
     .types = kJson,
     .answer = status,
     .json = value_shape<live::LiveStatus>},
};

}  // namespace

extern constexpr Routes live_routes{kRoutes};

}  // namespace clrscope::http
