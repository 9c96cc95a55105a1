#include "analyze/request_answers.h"

namespace clrscope {

std::span<const std::string_view> names_of(SpanOutcome) {
  static constexpr std::string_view kNames[] = {"returned", "faulted", "cancelled", "open"};
  return kNames;
}

}  // namespace clrscope

namespace clrscope::analyze {

const Shape& shape_of(const RunningStep*) {
  using A = RunningStep;
  static const auto shape =
      describe<A>("RequestStep", "a time when one thread worked for a request or a span",
                  {member<&A::start>("startMs", "since the request began"),
                   member<&A::duration>("durationMs", "how long the thread worked"),
                   member<&A::thread>("thread", "OS thread id"),
                   member_unless_empty<&A::queued>(
                       "queuedMs", "of steps: time it was ready before a thread took it")});
  return shape;
}

const Shape& shape_of(const ProfiledSpan*) {
  using A = ProfiledSpan;
  static const auto shape = describe<A>(
      "RequestSpan", "one call of a method while a request was served",
      {member<&A::id>("id", "number in this request, from 1"),
       member<&A::parent>("parent", "id of the span that called it; 0: the request itself"),
       member<&A::method>("method", "name of the method; async methods by their own name"),
       member<&A::is_async>("async", "whether it is an async method"),
       member<&A::outcome>("outcome",
                           "how it ended: returned, faulted (with an exception), cancelled, or "
                           "open: it had not ended when the request was recorded"),
       member<&A::start>("startMs", "since the request began"),
       member<&A::duration>("durationMs", "from its begin to its end, all awaits included"),
       member<&A::running>("runningMs", "time in which a thread executed it"),
       member<&A::waiting>("waitingMs", "time between its steps; queuedMs is part of it"),
       member<&A::queued>("queuedMs", "time it was ready and waited for a thread of the pool"),
       member<&A::thread>("thread", "OS thread id where it began"),
       member_unless_empty<&A::steps>("steps", "of async methods: when they ran")});
  return shape;
}

const Shape& shape_of(const ProfiledRequest*) {
  using A = ProfiledRequest;
  static const auto shape = describe<A>(
      "ProfiledRequest", "an HTTP request with the spans of its methods",
      {member<&A::trace_id>("traceId", "W3C trace id, 32 hexadecimal digits"),
       member_unless_empty<&A::own_id>("ownId",
                                       "the request had no trace id: clrscope made this one"),
       member<&A::method>("method", "HTTP method"),
       member<&A::route>("route", "route pattern, empty if no route matched"),
       member<&A::path>("path", "path, without query"),
       member<&A::status>("status", "HTTP status code"),
       member_unless_empty<&A::error>("error", "type of the unhandled exception"),
       member_unless_empty<&A::forced>("forced", "sampled because it carried the debug key"),
       member_unless_empty<&A::aborted>("aborted", "the client closed the connection"),
       member<&A::started>("startTime", "when it began"),
       member<&A::duration>("durationMs", "from its begin to its end"),
       member<&A::running>("runningMs",
                           "time that threads worked for it, summed over threads: more than "
                           "durationMs if it worked in parallel"),
       member<&A::waiting>("waitingMs", "time in which no thread worked for it"),
       member<&A::queued>("queuedMs",
                          "part of waitingMs: it was ready and waited for a thread of the pool"),
       member<&A::bytes_in>("bytesIn", Unit::kBytes, "length of the request's body, if known"),
       member<&A::bytes_out>("bytesOut", Unit::kBytes, "length of the response's body, if known"),
       member<&A::spans_lost>("spansLost", "spans of this request that are known to be missing"),
       member<&A::spans>("spans", "calls of the chosen methods, by start"),
       member<&A::parts>("parts", "when threads worked for the request, by start")});
  return shape;
}

const Shape& shape_of(const ProfiledRoute*) {
  using A = ProfiledRoute;
  static const auto shape = describe<A>(
      "ProfiledRoute", "all requests of one route, sampled or not",
      {member<&A::method>("method", "HTTP method"),
       member<&A::route>("route", "route pattern; the path where no route matched"),
       member<&A::count>("count", "requests that ended"),
       member<&A::per_second>("perSecond", Unit::kPerSecond, "requests per second"),
       member<&A::p50>("p50Ms", "median duration"),
       member<&A::p95>("p95Ms", "95 % of the requests took at most this long"),
       member<&A::p99>("p99Ms", "99 % of the requests took at most this long"),
       member<&A::max>("maxMs", "longest request"),
       member<&A::errors>("errors", "requests with status 500 or above or an unhandled exception"),
       member<&A::sampled>("sampled", "requests with spans"),
       member<&A::sampled_percent>("sampledPercent", Unit::kPercent, "their share"),
       member<&A::running>("runningMs", "mean running time of the sampled ones"),
       member<&A::waiting>("waitingMs", "mean waiting time of the sampled ones"),
       member<&A::queued>("queuedMs", "mean queued time of the sampled ones")});
  return shape;
}

const Shape& shape_of(const RequestLosses*) {
  using A = RequestLosses;
  static const auto shape = describe<A>(
      "RequestLosses", "what is known to be missing",
      {member<&A::records>("records", "records for which a ring had no room"),
       member<&A::requests>("requests", "of them: ends of requests, missing in the routes"),
       member<&A::spans>("spans", "spans beyond a limit, or of no known request"),
       member<&A::late>("late", "spans that ended long after their request"),
       member<&A::orphans>("orphans", "spans whose parent is missing: shown below the request"),
       member<&A::damaged>("damaged", "records that could not be read")});
  return shape;
}

const Shape& shape_of(const RequestCost*) {
  using A = RequestCost;
  static const auto shape = describe<A>(
      "RequestCost", "what the profiling cost the process",
      {member<&A::cpu_percent>("cpuPercent", Unit::kPercent,
                               "CPU time of the hooks, of the CPU time of the process"),
       member<&A::hooks>("hooksMs", "CPU time of the hooks, estimated by the agent"),
       member<&A::hearing>("hearingMs",
                           "of it: what requests cause that are not sampled, too; absent in "
                           "recordings of older versions"),
       member<&A::process>("processMs", "CPU time of the process meanwhile")});
  return shape;
}

const Shape& shape_of(const ProbedMethods*) {
  using A = ProbedMethods;
  static const auto shape = describe<A>(
      "RequestMethods", "the methods that the patterns chose",
      {member<&A::chosen>("chosen", "methods that match the patterns"),
       member<&A::instrumented>("instrumented", "of them: called, with probes"),
       member<&A::refused>("refused", "of them: could not be instrumented"),
       member_unless_empty<&A::not_measured>("notMeasured", "which, and why; at most 1000")});
  return shape;
}

const Shape& shape_of(const SentRequests*) {
  using A = SentRequests;
  static const auto shape = describe<A>(
      "SentRequests", "what was sent to a fleet server",
      {member<&A::to>("to", "address of the server"),
       member<&A::requests>("requests", "requests given to the relay"),
       member<&A::spans>("spans", "spans of these"),
       member<&A::samples>("samples", "CPU samples of these"),
       member<&A::batches>("batches", "batches given to the relay"),
       member<&A::delivered>("delivered", "batches that the server has stored"),
       member<&A::lost_requests>("lostRequests", "requests for which there was no room"),
       member<&A::waiting_bytes>("waitingBytes", "bytes that wait in the spool"),
       member_unless_empty<&A::trouble>("trouble", "why the server could not be reached")});
  return shape;
}

const Shape& shape_of(const RequestProfile*) {
  using A = RequestProfile;
  static const auto shape = describe<A>(
      "RequestProfile", "HTTP requests that a process served, with the spans of their methods",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long requests were profiled"),
       member<&A::seen>("seen", "requests that began, sampled or not"),
       member<&A::sampled>("sampled", "requests with spans"),
       member<&A::forced>("forced", "of them: because they carried the debug key"),
       member<&A::in_flight>("inFlight", "sampled requests that had not ended"),
       member<&A::probability>("probability",
                               "with which requests were sampled at the end, 0 to 1"),
       member<&A::lost>("lost", "what is missing"),
       member<&A::cost>("cost", "what it cost the process"),
       member<&A::methods>("methods", "methods that were instrumented"),
       member<&A::routes>("routes", "all requests by route, most total time first"),
       member<&A::requests>("requests",
                            "sampled requests, slowest first: of each route the slowest, the "
                            "failed ones, and a random choice of the others"),
       member<&A::not_kept>("notKept", "sampled requests that are not in the list"),
       member_unless_empty<&A::file>("file", "recording that was written"),
       member<&A::samples>("samples", "CPU samples in that recording"),
       member<&A::sent>("sent", "what was sent to a fleet server"),
       member<&A::notes>("notes", "what could not be done, and why")});
  return shape;
}

}  // namespace clrscope::analyze
