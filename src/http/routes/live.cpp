// Everything live in one stream of server-sent events that can be resumed; and who follows what.
#include <fmt/format.h>

#include "base/text.h"
#include "http/answer.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "ops/counters.h"
#include "ops/events.h"
#include "ops/live/answers.h"

namespace clrscope::http {
namespace {

using ops::Topic;

// What the program says of itself is for those who may record it.
constexpr ValueScope kTopicScopes[] = {{"logs", Scope::kTrace}, {"events", Scope::kTrace}};

Result<ops::FeedWish> feed_of(const Call& call, std::string_view name) {
  for (const auto& [topic, scope] : kTopicScopes)
    if (name == topic) TRY(call.need(scope, fmt::format("the topic {}", topic)));
  auto& live = call.services().live;
  if (name == "counters") {
    return live.counters_of(TRY(ops::parse_counters({call.text("counters").value_or("")})));
  }
  if (name == "logs") return ops::logs_feed({});
  if (name == "events") {
    const auto providers = call.text("providers");
    if (!providers || providers->empty())
      return fail(Errc::kUsage, "topics=events needs providers=Name[ids][:keywords[:level]],…");
    const auto where = call.text("where").value_or("");
    return ops::events_feed(TRY(ops::event_providers({.providers = {*providers}})),
                            TRY(ops::parse_where(where)), where);
  }
  for (const auto topic :
       {Topic::kGc, Topic::kJit, Topic::kExceptions, Topic::kContention, Topic::kThreadPool})
    if (ops::name_of(topic) == name) return ops::runtime_feed(topic, messages_for(call));
  return fail(Errc::kUsage, "topics: there is no {}", name)
      .hint("counters, gc, jit, exceptions, contention, threadpool, logs, events");
}

Result<> serve(Call& call) {
  StreamWish wish{.render = [](const ops::LiveItem& item) { return item.json; },
                  .duration = TRY(stream_duration(call, -1))};
  const auto topics = call.text("topics").value_or("counters");
  for (const auto name : split(topics, ','))
    if (!trim(name).empty()) wish.feeds.push_back(TRY(feed_of(call, trim(name))));
  if (wish.feeds.empty()) return fail(Errc::kUsage, "topics names nothing");
  if (const auto last = call.request().field("Last-Event-ID"))
    wish.after = std::string{*last};
  else
    wish.after = call.text("lastEventId");
  const auto who = TRY(chosen_live(call));
  serve_stream(std::move(call), who, std::move(wish));
  return {};
}

void live(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

Result<HttpResponse> status(Call& call) {
  return json_answer(ops::live_status_json(call.services().live.status()));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "topics",
     .type = "string",
     .help = "counters,gc,jit,exceptions,contention,threadpool,logs,events; counters unless told",
     .scopes = kTopicScopes},
    {.name = "counters", .type = "string", .help = "more of them: Provider[first,second],Meter"},
    {.name = "providers",
     .type = "string",
     .help = "of events: Name[:keywords[:level]],…; only events 1 and 5: Name[1,5]"},
    {.name = "where", .type = "string", .help = "of events: name=GC/* Depth>=2"},
    {.name = "lastEventId", .type = "string", .help = "as the field Last-Event-ID: go on after it"},
    {.name = "durationSeconds", .type = "integer", .help = "-1, no end, unless told"},
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
     .live_types = kEventStream,
     .statuses = "400 403 404 410 429"},
    {.method = "GET",
     .path = "/live/status",
     .scope = Scope::kRead,
     .summary = "Which processes are followed: sessions in them, followers, what was lost",
     .types = kJson,
     .answer = status},
};

}  // namespace

extern constexpr Routes live_routes{kRoutes};

}  // namespace clrscope::http
