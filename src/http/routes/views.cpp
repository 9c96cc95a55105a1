// Curated views: one sentence, then the numbers of the last minutes.
#include "http/answer.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "ops/live/answers.h"

namespace clrscope::http {
namespace {

using ops::Topic;

Result<HttpResponse> view(Call& call) {
  const auto path = call.admitted().route->path;
  const auto name = path.substr(path.rfind('/') + 1);
  auto topic = Topic::kGc;
  for (const auto one :
       {Topic::kGc, Topic::kJit, Topic::kExceptions, Topic::kContention, Topic::kThreadPool})
    if (ops::name_of(one) == name) topic = one;
  const auto length = TRY(call.number("seconds", 1, 86'400)).value_or(0);
  const auto rows = TRY(call.number("rows", 1, 100'000)).value_or(0);
  const auto who = TRY(chosen_live(call));
  const auto answer = call.services().live.view(who, topic, std::chrono::seconds{length},
                                                static_cast<std::size_t>(rows), messages_for(call));
  if (!answer) return live_problem(answer.error());
  return call.wants(kText) ? text_answer(ops::view_text(*answer))
                           : json_answer(ops::view_json(*answer, topic));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "seconds", .type = "integer", .help = "only the last so many"},
    {.name = "rows", .type = "integer", .help = "of the text's longest table"},
};

constexpr Route view_route(std::string_view path, std::string_view summary) {
  return {.method = "GET",
          .path = path,
          .scope = Scope::kRead,
          .summary = summary,
          .types = "application/json text/plain",
          .parameters = kParameters,
          .answer = view,
          .statuses = "400 404 410 429"};
}

constexpr Route kRoutes[] = {
    view_route("/views/gc", "Garbage collections: pauses, causes, heap sizes, share of the time"),
    view_route("/views/jit", "Methods compiled: times, tiers, sizes"),
    view_route("/views/exceptions",
               "Exceptions: types, rates, places, the last ones; messages need the scope trace"),
    view_route("/views/contention", "Waits for locks: where, how long, for whom"),
    view_route("/views/threadpool", "The thread pool: workers, queue, why their number changed"),
};

}  // namespace

extern constexpr Routes views_routes{kRoutes};

}  // namespace clrscope::http
