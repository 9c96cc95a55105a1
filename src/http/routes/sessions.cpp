// Recordings that are started, looked after and stopped by separate requests.
#include "http/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "http/answer.h"
#include "http/file_answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kMostSessions = 32;
constexpr std::ptrdiff_t kMostOfACaller = 16;

std::string json_of(const SessionView& view) {
  JsonWriter json;
  write_session(json, view);
  return std::move(json).take() + "\n";
}

Result<HttpResponse> start(Call& call) {
  TRY(no_egress(call));
  const auto wish = TRY(trace_wish(call));
  auto record = TRY(record_wish(wish));
  auto& services = call.services();
  Process process{.pid = 0, .name = "machine", .user = {}};
  if (wish.whole_machine) {
    TRY(services.processes.machine_allowed());
  } else {
    process = TRY(services.processes.chosen(call, wish.selector));
    record.target = services.processes.target(process);
  }
  const auto busy = [](std::size_t count, std::string_view whose) {
    auto answer = problem(429, fmt::format("{} sessions run already{}", count, whose),
                          "the limit \"sessions\"; GET /sessions lists them; POST "
                          "/sessions/ID/stop ends one");
    answer.fields.push_back({"Retry-After", "10"});
    return answer;
  };
  if (services.sessions.count() >= kMostSessions) return busy(kMostSessions, "");
  const auto own = std::ranges::count_if(services.sessions.list(), [&](const SessionView& one) {
    return one.running && one.recording.by == call.caller().name;
  });
  if (own >= kMostOfACaller)
    return busy(static_cast<std::size_t>(kMostOfACaller), " for this caller");
  if (const auto room = services.recordings.make_room(); !room)
    return problem(507, room.error().what, room.error().hint);
  const auto view = services.sessions.start(wish, std::move(record), process, call.caller().name);
  if (!view) return record_problem(view.error());
  auto answer = json_answer(json_of(*view), 201);
  answer.fields.push_back({"Location", call.link("/sessions/" + view->recording.id)});
  return answer;
}

Result<HttpResponse> list(Call& call) {
  JsonWriter json;
  json.begin_array();
  for (const auto& view : call.services().sessions.list()) write_session(json, view);
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> show(Call& call) {
  return json_answer(json_of(TRY(call.services().sessions.find(call.path_value("id"), true))));
}

Result<> answer_trace(Call& call) {
  const auto recording =
      TRY(call.services().sessions.stop(call.path_value("id"), [&] { return call.gone(); }));
  auto head = file_head(kOctets, recording.title);
  head.fields.push_back({"Clrscope-Recording", recording.id});
  head.fields.push_back({"Clrscope-Ending", recording.ending});
  head.fields.push_back({"Clrscope-Events", std::to_string(recording.events)});
  head.fields.push_back({"Clrscope-Samples", std::to_string(recording.samples)});
  head.fields.push_back({"Clrscope-Lost", std::to_string(recording.lost)});
  (void)TRY(send_file(call, std::move(head), recording.path));
  return {};
}

void stop(Call call) {
  if (const auto done = answer_trace(call); !done) call.send(done.error());
}

Result<HttpResponse> discard(Call& call) {
  TRY(call.services().sessions.discard(call.path_value("id")));
  return HttpResponse{.status = 204, .type = ""};
}

constexpr Parameter kId[] = {
    {.name = "id", .type = "string", .help = "of the session", .in = Parameter::In::kPath}};

const Route kRoutes[] = {
    {.method = "POST",
     .path = "/sessions",
     .scope = Scope::kTrace,
     .summary = "Starts a recording that goes on until it is stopped",
     .types = kJson,
     .parameters = kTraceParameters,
     .answer = start,
     .runs = Runs::kLong,
     .body = kTraceBody,
     .statuses = "201 400 429 507"},
    {.method = "GET",
     .path = "/sessions",
     .scope = Scope::kTrace,
     .summary = "The sessions that run, and those that have ended and are kept",
     .types = kJson,
     .answer = list},
    {.method = "GET",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "One session; asking renews its lease",
     .types = kJson,
     .parameters = kId,
     .answer = show,
     .statuses = "404"},
    {.method = "POST",
     .path = "/sessions/{id}/stop",
     .scope = Scope::kTrace,
     .summary = "Stops it; the answer is the trace",
     .types = kOctets,
     .parameters = kId,
     .serve = stop,
     .runs = Runs::kLong,
     .statuses = "404"},
    {.method = "DELETE",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "Ends it and keeps nothing",
     .parameters = kId,
     .answer = discard,
     .runs = Runs::kLong,
     .statuses = "204 404"},
};

}  // namespace

extern const Routes sessions_routes{kRoutes};

}  // namespace clrscope::http
