// HTTP requests that a process is serving now, and profiles of those that it serves for a while.
#include "ops/requests.h"

#include <fmt/format.h>

#include "archive/recordings.h"
#include "archive/request_runs.h"
#include "base/text.h"
#include "http/processes.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/request_profile.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> requests(Call& call) {
  auto& processes = call.services().processes;
  const auto process = TRY(processes.chosen(call));
  const auto seen = TRY(ops::take_requests({.target = processes.target(process)}));
  return call.wants(kText) ? text_answer(ops::requests_text(seen))
                           : json_answer(ops::requests_json(seen));
}

constexpr std::int64_t kLongest = 600;  // seconds

std::vector<std::string> patterns_of(const Call& call, std::string_view parameter) {
  std::vector<std::string> out;
  for (const auto one : split(call.text(parameter).value_or(""), ','))
    if (!trim(one).empty()) out.emplace_back(trim(one));
  return out;
}

HttpResponse profile_answer(Call& call, const ops::RequestProfile& profile) {
  if (!call.wants(kText)) return answer_with(profile);
  return text_answer(archive::text_of(profile));
}

Result<ops::ProfileRequest> request_of(const Call& call, const Process& process) {
  const auto seconds = TRY(call.number("durationSeconds", 1, kLongest)).value_or(10);
  ops::ProfileRequest request{.include = patterns_of(call, "include"),
                              .exclude = patterns_of(call, "exclude"),
                              .with_accessors = TRY(call.truth("accessors", false))};
  if (request.include.empty())
    return fail(Errc::kUsage, "include is required")
        .hint("name the code of the app, such as include=Shop or include=Shop.*Async");
  request.smallest_il =
      static_cast<std::uint32_t>(TRY(call.number("minIl", 0, 1 << 20)).value_or(0));
  request.listen = {.target = call.services().processes.target(process),
                    .duration = std::chrono::seconds{seconds}};
  request.sampling.probability = TRY(ops::parse_probability(call.text("sample").value_or("auto")));
  request.trace_id = call.text("traceId").value_or("");
  return request;
}

Result<archive::RequestRuns::Started> begin(Call& call) {
  auto& services = call.services();
  const auto process = TRY(services.processes.chosen(call));
  return services.request_runs.start(TRY(request_of(call, process)), process, call.caller().name);
}

void add_location(Call& call, const archive::RequestRun& run, HttpResponse& answer) {
  answer.fields.push_back({"Location", call.link("/requests/runs/" + run.id)});
}

HttpResponse other_runs(Call& call, const archive::RequestRun& run) {
  auto answer = problem(409,
                        fmt::format("{} ({}) is being profiled already{}", run.process.name,
                                    run.process.pid, run.by.empty() ? "" : ", for " + run.by),
                        "GET /requests/runs/" + run.id + " shows it; POST .../stop ends it");
  add_location(call, run, answer);
  return answer;
}

Result<HttpResponse> profile(Call& call) {
  const auto begun = TRY(begin(call));
  if (!begun.is_new) return other_runs(call, begun.run);
  const auto ended =
      TRY(call.services().request_runs.wait(begun.run.id, [&] { return call.gone(); }));
  if (ended.error) return fail(*ended.error);
  auto answer = profile_answer(call, *ended.profile);
  add_location(call, ended, answer);
  return answer;
}

Result<HttpResponse> start(Call& call) {
  const auto begun = TRY(begin(call));
  if (!begun.is_new) return other_runs(call, begun.run);
  auto answer = answer_with(archive::answer_of(begun.run), 201);
  add_location(call, begun.run, answer);
  return answer;
}

Result<HttpResponse> list(Call& call) {
  call.note_repeated();  // the page asks again and again
  std::vector<archive::RequestRunAnswer> all;
  for (const auto& run : call.services().request_runs.list())
    all.push_back(archive::answer_of(run));
  return answer_with(all);
}

// A profile that a client started, and what it has found.
struct RequestRunReport {
  archive::RequestRunAnswer run{};
  std::optional<RawJsonOf<ops::RequestProfile>> profile{};
};
const Shape& shape_of(const RequestRunReport*) {
  using R = RequestRunReport;
  static const auto shape =
      describe<R>("RequestRunReport", "A profile of HTTP requests, as far as it is",
                  {members_of<&R::run>(),
                   member<&R::profile>("profile",
                                       "what it has found; without single requests while it runs, "
                                       "unless they are asked for")});
  return shape;
}

Result<HttpResponse> show(Call& call) {
  auto& runs = call.services().request_runs;
  const auto& id = call.path_value("id");
  const auto run = TRY(call.truth("requests", false))
                       ? TRY(runs.find_with_requests(id, call.text("traceId").value_or("")))
                       : TRY(runs.find(id));
  if (call.wants(kText) && run.has_profile()) return text_answer(TRY(runs.profile_text(run)));
  if (call.wants(kText))
    return text_answer(
        fmt::format("{} {}\n", clrscope::name_of(run.state), run.error ? run.error->what : ""));
  RequestRunReport report{.run = archive::answer_of(run)};
  if (run.has_profile())
    report.profile = RawJsonOf<ops::RequestProfile>{TRY(runs.profile_json(run))};
  if (run.running()) call.note_repeated();  // the page asks every second
  return answer_with(report);
}

Result<HttpResponse> stop(Call& call) {
  auto& runs = call.services().request_runs;
  TRY(runs.stop(call.path_value("id")));
  return answer_with(archive::answer_of(TRY(runs.find(call.path_value("id")))), 202);
}

Result<HttpResponse> remove(Call& call) {
  TRY(call.services().request_runs.remove(call.path_value("id")));
  return HttpResponse{.status = 204, .type = ""};
}

Result<HttpResponse> recorded(Call& call) {
  const auto recording = TRY(call.services().recordings.find(call.path_value("id")));
  const auto limits = reading_limits(call);
  const auto place = TRY(begin_reading(call));
  return profile_answer(
      call, TRY(ops::recorded_requests(recording.path, call.text("traceId").value_or(""), limits)));
}

constexpr Parameter kPid{.name = "pid", .type = "integer", .help = "the process"};
constexpr Parameter kUid{.name = "uid", .type = "string", .help = "or its runtime's GUID"};
constexpr Parameter kName{.name = "name", .type = "string", .help = "or its name"};
constexpr Parameter kTraceId{.name = "traceId",
                             .type = "string",
                             .help =
                                 "a request to keep in any case: its trace id, or the "
                                 "beginning of it"};
constexpr Parameter kParameters[] = {kPid, kUid, kName};
constexpr Parameter kProfile[] = {
    kPid,
    kUid,
    kName,
    {.name = "include",
     .type = "string",
     .help = "methods to time, separated by commas: namespaces, types, methods; * matches any "
             "text; [NAME]: what carries that attribute; required"},
    {.name = "exclude", .type = "string", .help = "methods not to time, separated by commas"},
    {.name = "minIl", .type = "integer", .help = "smallest IL size to time (default: 0)"},
    {.name = "accessors", .type = "boolean", .help = "time trivial getters and setters too"},
    {.name = "sample",
     .type = "string",
     .help = "share of requests with spans, 0 to 1, or auto (default: auto)"},
    {.name = "durationSeconds", .type = "integer", .help = "how long to profile (default: 10)"},
    kTraceId};
constexpr Parameter kRecorded[] = {
    {.name = "id", .type = "string", .help = "the recording", .in = Parameter::In::kPath},
    kTraceId};
constexpr Parameter kRun{
    .name = "id", .type = "string", .help = "id of the profile", .in = Parameter::In::kPath};
constexpr Parameter kId[] = {kRun};
constexpr Parameter kShow[] = {
    kRun,
    {.name = "requests",
     .type = "boolean",
     .help = "true: with single requests also while it runs, from the next second on"},
    {.name = "traceId",
     .type = "string",
     .help = "with requests: one to keep from now on, by its trace id or the beginning of it"}};

constexpr Limit kRunning{.name = "request profiles", .all = archive::RunLimits{}.running};

// Profiles of one kind of source: a process, a recording.
constexpr Route profile_route(std::string_view path, std::string_view summary,
                              std::span<const Parameter> parameters,
                              Result<HttpResponse> (*answer)(Call&), std::string_view statuses) {
  return {.method = "GET",
          .path = path,
          .scope = Scope::kTrace,
          .summary = summary,
          .types = "application/json text/plain",
          .parameters = parameters,
          .answer = answer,
          .json = value_shape<ops::RequestProfile>,
          .runs = Runs::kLong,
          .statuses = statuses};
}

constexpr Route live_profile_route() {
  auto route = profile_route("/requests",
                             "Profiles HTTP requests for a while: routes, spans of methods across "
                             "awaits; loads the agent if needed",
                             kProfile, profile, "400 404 409 429");
  route.load = Load::kRecording;
  route.running = kRunning;
  return route;
}

constexpr Route kRoutes[] = {
    live_profile_route(),
    profile_route("/recordings/{id}/requests", "Profiled HTTP requests of a recording", kRecorded,
                  recorded, "404 413 429"),
    {.method = "POST",
     .path = "/requests",
     .scope = Scope::kTrace,
     .summary = "Begins to profile HTTP requests: one profile at a time in a process",
     .types = kJson,
     .parameters = kProfile,
     .answer = start,
     .json = value_shape<archive::RequestRunAnswer>,
     .running = kRunning,
     .statuses = "201 400 404 409 429"},
    {.method = "GET",
     .path = "/requests/runs",
     .scope = Scope::kTrace,
     .summary = "Profiles of HTTP requests that run or are kept, the newest first",
     .types = kJson,
     .answer = list,
     .json = value_shape<std::vector<archive::RequestRunAnswer>>},
    {.method = "GET",
     .path = "/requests/runs/{id}",
     .scope = Scope::kTrace,
     .summary = "One profile of HTTP requests, as far as it is",
     .types = "application/json text/plain",
     .parameters = kShow,
     .answer = show,
     .json = value_shape<RequestRunReport>,
     .statuses = "404"},
    {.method = "POST",
     .path = "/requests/runs/{id}/stop",
     .scope = Scope::kTrace,
     .summary = "Stops a profile of HTTP requests and keeps what it found",
     .types = kJson,
     .parameters = kId,
     .answer = stop,
     .json = value_shape<archive::RequestRunAnswer>,
     .statuses = "202 404"},
    {.method = "DELETE",
     .path = "/requests/runs/{id}",
     .scope = Scope::kTrace,
     .summary = "Stops a profile of HTTP requests and discards it",
     .parameters = kId,
     .answer = remove,
     .runs = Runs::kLong,
     .statuses = "204 404"},
    {.method = "GET",
     .path = "/views/requests",
     .scope = Scope::kTrace,
     .summary = "HTTP requests in flight: age, path, route, trace id and async stack; pauses the "
                "process briefly",
     .types = "application/json text/plain",
     .parameters = kParameters,
     .answer = requests,
     .json = value_shape<ops::RequestsAnswer>,
     .statuses = "400"},
};

}  // namespace

extern constexpr Routes requests_routes{kRoutes};

}  // namespace clrscope::http
