#include "inspect/async/requests_answer.h"

namespace clrscope::inspect {
namespace {

RequestAnswer request_answer(const RequestsSnapshot& seen, const RequestInFlight& request) {
  RequestAnswer answer{.age = request.age,
                       .age_source = request.age_source,
                       .started = request.started,
                       .method = request.method,
                       .path = request.path,
                       .protocol = request.protocol,
                       .route = request.route,
                       .endpoint = request.endpoint,
                       .operation = request.operation,
                       .trace_id = request.trace_id,
                       .span_id = request.span_id,
                       .connection_id = request.connection_id,
                       .request_id = request.request_id,
                       .context = address_text(request.context),
                       .upgraded = request.upgraded,
                       .frames = frames_of(seen.async, request.steps),
                       .stacks = request.stacks,
                       .thread = request.thread};
  if (request.wait) answer.wait = answer_of(*request.wait);
  for (const auto& frame : request.frames) answer.thread_frames.push_back(answer_of(frame));
  return answer;
}

}  // namespace

RequestsAnswer answer_of(const RequestsSnapshot& seen) {
  const auto& from = seen.async;
  RequestsAnswer answer{
      .pid = from.pid,
      .process = from.name,
      .runtime = from.runtime,
      .source = from.target == TargetKind::kCore ? HeapSource::kCore : HeapSource::kTwin,
      .pause = from.pause,
      .duration = from.took,
      .contexts = seen.contexts,
      .in_flight = seen.requests.size() + seen.cut,
      .notes = from.notes};
  for (const auto& request : seen.requests)
    answer.requests.push_back(request_answer(seen, request));
  return answer;
}

const Shape& shape_of(const RequestAnswer*) {
  using T = RequestAnswer;
  static const auto shape = describe<T>(
      "RequestInFlight", "an HTTP request that ASP.NET Core is serving",
      {member_or_null<&T::age>("ageMs", "time since it began, null if unknown"),
       member<&T::age_source>("ageSource",
                              "what the age comes from: ASP.NET Core's own measurement (hosting), "
                              "or the start of the request's Activity"),
       member_or_null<&T::started>("startTime", "when it began, null if unknown"),
       member<&T::method>("method", "HTTP method"),
       member<&T::path>("path", "path, without query"),
       member<&T::protocol>("protocol", "HTTP version"),
       member<&T::route>("route", "route pattern, empty if no route was chosen yet"),
       member<&T::endpoint>("endpoint", "display name of the endpoint"),
       member_unless_empty<&T::operation>("operation", "operation name of its Activity"),
       member<&T::trace_id>("traceId",
                            "trace id of its Activity, or of the header traceparent if it has no "
                            "Activity; empty if it has neither"),
       member_unless_empty<&T::span_id>("spanId", "span id of its Activity"),
       member<&T::connection_id>("connectionId", "Kestrel's id of the connection"),
       member<&T::request_id>("requestId",
                              "HttpContext.TraceIdentifier, unless the app changed it"),
       member<&T::context>("context", "address of its HttpContext"),
       member_unless_empty<&T::upgraded>("upgraded", "upgraded to a WebSocket or similar"),
       member_or_null<&T::wait>("wait", "what its innermost async method is waiting for"),
       member<&T::frames>("frames",
                          "its async methods, innermost first, up to the server's request loop"),
       member<&T::stacks>("stacks",
                          "async stacks of the request; more than 1 if it awaits several tasks at "
                          "once: the deepest is shown"),
       member_unless_empty<&T::thread>("threadOsId", "thread that runs it now"),
       member_unless_empty<&T::thread_frames>(
           "threadFrames",
           "managed frames of that thread, innermost first, down to the innermost async method")});
  return shape;
}

const Shape& shape_of(const RequestsAnswer*) {
  using T = RequestsAnswer;
  static const auto shape = describe<T>(
      "RequestsInFlight", "the HTTP requests that a process is serving",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::runtime>("runtime", ".NET version"),
       member<&T::source>("source", "where the objects were read"),
       member<&T::pause>("pauseMs", "time the process was paused"),
       member<&T::duration>("durationMs", "time it took to read the heap and the requests"),
       member<&T::contexts>("contexts", "HttpContext objects in the heap, unused ones included"),
       member<&T::in_flight>("inFlight", "number of requests in flight"),
       member<&T::requests>("requests", "oldest first, then those of unknown age; at most 10000"),
       member<&T::notes>("notes", "what could not be seen, and why")});
  return shape;
}

}  // namespace clrscope::inspect
