// Curated views: one sentence, then the numbers of the last minutes.
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "live/topic.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

using live::Topic;

Result<HttpResponse> view(Call& call) {
  const auto path = call.admitted().route->path;
  const auto name = path.substr(path.rfind('/') + 1);
  const auto topic = live::find_topic(name);
  CHECK(topic.has_value());
  const auto length = TRY(call.number("seconds", 1, 86'400)).value_or(0);
  const auto rows = TRY(call.number("rows", 1, 100'000)).value_or(0);
  const auto who = TRY(chosen_live(call));
  const auto answer = call.services().live.view(who, *topic, std::chrono::seconds{length},
                                                static_cast<std::size_t>(rows), messages_for(call));
  if (!answer) return live_problem(answer.error());
  return call.wants(kText) ? text_answer(live::view_text(*answer))
                           : json_answer(live::view_json(*answer));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "seconds", .type = "integer", .help = "only the last so many"},
    {.name = "rows", .type = "integer", .help = "of the text's longest table"},
};

// What is said of each view, and the members of its report.
constexpr std::string_view shape_name(Topic topic) {
  switch (topic) {
    case Topic::kGc:
      return "GcView";
    case Topic::kJit:
      return "JitView";
    case Topic::kExceptions:
      return "ExceptionsView";
    case Topic::kContention:
      return "ContentionView";
    case Topic::kThreadStarts:
      return "ThreadStartsView";
    default:
      return "ThreadPoolView";
  }
}
template <Topic kTopic>
const ValueShape& shape_of_view() {
  static const auto shape = live::view_shape(kTopic, shape_name(kTopic));
  static const ValueShape value{
      .kind = ValueShape::Kind::kObject, .shape = &shape, .write = nullptr};
  return value;
}

constexpr Route view_route(std::string_view path, JsonShape json, std::string_view summary) {
  return {.method = "GET",
          .path = path,
          .scope = Scope::kRead,
          .summary = summary,
          .types = "application/json text/plain",
          .parameters = kParameters,
          .answer = view,
          .json = json,
          .statuses = "400 404 410 429"};
}

constexpr Route kRoutes[] = {
    view_route("/views/gc", shape_of_view<Topic::kGc>,
               "Garbage collections: pauses, causes, heap sizes, share of the time"),
    view_route("/views/jit", shape_of_view<Topic::kJit>, "Methods compiled: times, tiers, sizes"),
    view_route("/views/exceptions", shape_of_view<Topic::kExceptions>,
               "Exceptions: types, rates, places, the last ones; messages need the scope trace"),
    view_route("/views/contention", shape_of_view<Topic::kContention>,
               "Waits for locks: where, how long, for whom"),
    view_route("/views/threadpool", shape_of_view<Topic::kThreadPool>,
               "The thread pool: workers, queue, why their number changed"),
    view_route("/views/thread-starts", shape_of_view<Topic::kThreadStarts>,
               "Threads that started, and the code that started them"),
};

}  // namespace

extern constexpr Routes views_routes{kRoutes};

}  // namespace clrscope::http
