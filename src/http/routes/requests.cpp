// HTTP requests that a process is serving now, and profiles of those that it serves for a while.
#include "ops/requests.h"

#include "answer/text.h"
#include "archive/recordings.h"
#include "base/text.h"
#include "http/answer.h"
#include "http/processes.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/request_profile.h"

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
constexpr std::size_t kRows = 100;

std::vector<std::string> patterns_of(const Call& call, std::string_view parameter) {
  std::vector<std::string> out;
  for (const auto one : split(call.text(parameter).value_or(""), ','))
    if (!trim(one).empty()) out.emplace_back(trim(one));
  return out;
}

HttpResponse profile_answer(Call& call, const ops::RequestProfile& profile) {
  if (!call.wants(kText)) return answer_with(profile);
  return text_answer(
      answer::page_text(ops::requests_document(profile, kRows, ops::WaterfallStyle::kUnicode)));
}

Result<HttpResponse> profile(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  const auto seconds = TRY(call.number("durationSeconds", 1, kLongest)).value_or(10);
  ops::ProfileRequest request{.include = patterns_of(call, "include"),
                              .exclude = patterns_of(call, "exclude")};
  request.listen = {.target = call.services().processes.target(process),
                    .duration = std::chrono::seconds{seconds}};
  request.sampling.probability = TRY(ops::parse_probability(call.text("sample").value_or("auto")));
  request.trace_id = call.text("traceId").value_or("");
  return profile_answer(call, TRY(ops::profile_requests(request)));
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
             "text; required"},
    {.name = "exclude", .type = "string", .help = "methods not to time, separated by commas"},
    {.name = "sample",
     .type = "string",
     .help = "share of requests with spans, 0 to 1, or auto (default: auto)"},
    {.name = "durationSeconds", .type = "integer", .help = "how long to profile (default: 10)"},
    kTraceId};
constexpr Parameter kRecorded[] = {
    {.name = "id", .type = "string", .help = "the recording", .in = Parameter::In::kPath},
    kTraceId};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/requests",
     .scope = Scope::kTrace,
     .summary = "Profiles HTTP requests for a while: routes, spans of methods across awaits; loads "
                "the agent if needed",
     .types = "application/json text/plain",
     .parameters = kProfile,
     .answer = profile,
     .json = value_shape<ops::RequestProfile>,
     .runs = Runs::kLong,
     .load = Load::kRecording,
     .statuses = "400 404 429"},
    {.method = "GET",
     .path = "/recordings/{id}/requests",
     .scope = Scope::kTrace,
     .summary = "Profiled HTTP requests of a recording",
     .types = "application/json text/plain",
     .parameters = kRecorded,
     .answer = recorded,
     .json = value_shape<ops::RequestProfile>,
     .runs = Runs::kLong,
     .statuses = "404 413 429"},
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
