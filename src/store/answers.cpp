#include "store/answers.h"

namespace clrscope::store {

const Shape& shape_of(const ServiceSummary*) {
  using S = ServiceSummary;
  static const auto shape =
      describe<S>("FleetService", "a service that sent requests",
                  {member<&S::service>("service", "name of the service"),
                   member<&S::versions>("versions", "versions that sent requests"),
                   member<&S::hosts>("hosts", "hosts that sent requests"),
                   member<&S::requests>("requests", "requests stored"),
                   member<&S::sampled>("sampled", "of these, with spans"),
                   member<&S::errors>("errors", "status 500 and above, or an unhandled exception"),
                   member<&S::spans>("spans", "spans stored"),
                   member<&S::first>("first", "begin of the oldest request, to 10 seconds"),
                   member<&S::last>("last", "begin of the newest request, to 10 seconds")});
  return shape;
}

const Shape& shape_of(const Latency*) {
  using L = Latency;
  static const auto shape = describe<L>(
      "FleetLatency", "durations of requests",
      {member<&L::requests>("requests", "number of requests"),
       member<&L::per_second>("perSecond", Unit::kPerSecond,
                              "requests per second since the first selected one"),
       member<&L::errors>("errors", "status 500 and above, or an unhandled exception"),
       member<&L::sampled>("sampled", "of these, with spans"),
       member<&L::p50>("p50Ms", "median duration"),
       member<&L::p90>("p90Ms", "90th percentile of the duration"),
       member<&L::p95>("p95Ms", "95th percentile of the duration"),
       member<&L::p99>("p99Ms", "99th percentile of the duration"),
       member<&L::max>("maxMs", "longest duration"),
       member<&L::running>("runningMs", "time that threads worked for all sampled ones"),
       member<&L::waiting>("waitingMs", "time that no thread worked for them"),
       member<&L::queued>("queuedMs", "of this, in the queue of the thread pool")});
  return shape;
}

const Shape& shape_of(const RoutePoint*) {
  using P = RoutePoint;
  static const auto shape =
      describe<P>("FleetRoutePoint", "a route in one step of time",
                  {member<&P::time>("time", "begin of the step"), members_of<&P::latency>()});
  return shape;
}

const Shape& shape_of(const RouteSummary*) {
  using R = RouteSummary;
  static const auto shape = describe<R>(
      "FleetRoute", "a route of a service",
      {member<&R::route>("route", "method and route template"), members_of<&R::latency>(),
       member_unless_empty<&R::points>("points",
                                       "the same over time; steps without requests are "
                                       "left out")});
  return shape;
}

std::span<const std::string_view> names_of(GroupBy) {
  static constexpr std::string_view kNames[] = {"service", "version", "host", "route", "status"};
  return kNames;
}

const Shape& shape_of(const Series*) {
  using S = Series;
  static const auto shape = describe<S>(
      "FleetSeries", "requests of one group",
      {member<&S::group>("group", "the service, version, host, route or status they share"),
       members_of<&S::latency>(),
       member_unless_empty<&S::points>("points",
                                       "the same over time; steps without requests are left "
                                       "out")});
  return shape;
}

bool comes_before(GroupBy by, const Series& a, const Series& b) {
  const auto weight = [&](const Series& one) {
    return by == GroupBy::kRoute ? static_cast<std::uint64_t>(one.latency.running.count())
                                 : one.latency.requests;
  };
  return weight(a) != weight(b) ? weight(a) > weight(b) : a.group < b.group;
}

std::span<const std::string_view> names_of(FlameWeight) {
  static constexpr std::string_view kNames[] = {"running", "cpu"};
  return kNames;
}

const Shape& shape_of(const Flame*) {
  using F = Flame;
  static const auto shape = describe<F>(
      "FleetFlame",
      "merged call trees of requests, weighted by running time or CPU time; nodes in preorder",
      {member<&F::requests>("requests", "requests with spans; by CPU time: with CPU samples"),
       member<&F::spans>("spans", "spans of these; 0 by CPU time"),
       member<&F::samples>("samples", "CPU samples of these; 0 by running time"),
       member<&F::total>("totalMs", "running time of all spans, or CPU time of all samples"),
       member<&F::shortest>("shortestMs", "duration of the shortest selected request"),
       member<&F::longest>("longestMs", "duration of the longest selected request"),
       member<&F::names>("names", "method names"),
       member<&F::name>("name", "per node: index in names"),
       member<&F::depth>("depth",
                         "per node: 0 for a root; the parent is the nearest node before "
                         "it with a smaller depth"),
       member<&F::self_ns>("selfNs", "per node: time of its own, in nanoseconds"),
       member<&F::calls>("calls", "per node: number of calls; by CPU time: of samples")});
  return shape;
}

const Shape& shape_of(const StoredStep*) {
  using S = StoredStep;
  static const auto shape = describe<S>(
      "FleetStep", "a stretch in which an async method ran",
      {member<&S::begin>("startMs", "time after the begin of the request"),
       member<&S::duration>("durationMs", "length"), member<&S::thread>("thread", "OS thread id")});
  return shape;
}

const Shape& shape_of(const StoredSpan*) {
  using S = StoredSpan;
  static const auto shape =
      describe<S>("FleetSpan", "one call of a method",
                  {member<&S::method>("method", "method name"),
                   member<&S::parent>("parent", "1 + position of the caller; 0: the request"),
                   member<&S::begin>("startMs", "time after the begin of the request"),
                   member<&S::duration>("durationMs", "duration"),
                   member<&S::self>("selfMs", "running time without that of its callees"),
                   member<&S::queued>("queuedMs", "time in the queue of the thread pool"),
                   member<&S::thread>("thread", "OS thread id where it began"),
                   member<&S::outcome>("outcome", "returned, faulted, cancelled or open"),
                   member<&S::is_async>("async", "whether the method is async"),
                   member_unless_empty<&S::steps>("steps", "when an async method ran")});
  return shape;
}

const Shape& shape_of(const StoredStack*) {
  using S = StoredStack;
  static const auto shape =
      describe<S>("FleetStack", "CPU samples of a request with the same span and stack",
                  {member<&S::span>("span", "1 + position of the innermost span; 0: none"),
                   member<&S::samples>("samples", "number of samples"),
                   member<&S::cpu>("cpuMs", "CPU time that they stand for"),
                   member<&S::frames>("frames", "methods, the innermost first")});
  return shape;
}

const Shape& shape_of(const StoredRequest*) {
  using R = StoredRequest;
  static const auto shape =
      describe<R>("FleetRequest", "one request with its spans",
                  {member<&R::trace_id>("traceId", "W3C trace id"),
                   member<&R::service>("service", "name of the service"),
                   member<&R::host>("host", "name of the host"),
                   member<&R::version>("version", "version of the service"),
                   member<&R::method>("method", "HTTP method"),
                   member<&R::route>("route", "route template"),
                   member<&R::path>("path", "path"),
                   member_unless_empty<&R::error>("error", "type of the unhandled exception"),
                   member<&R::status>("status", "HTTP status code"),
                   member<&R::sampled>("sampled", "whether it has spans"),
                   member<&R::aborted>("aborted", "whether the client went away"),
                   member<&R::forced>("forced", "whether the debug key chose it"),
                   member<&R::begin>("startTime", "begin"),
                   member<&R::duration>("durationMs", "duration"),
                   member<&R::running>("runningMs", "time that threads worked for it"),
                   member<&R::waiting>("waitingMs", "time that no thread worked for it"),
                   member<&R::queued>("queuedMs", "of this, in the queue of the thread pool"),
                   member<&R::spans_lost>("spansLost", "spans known to be missing"),
                   member<&R::span_count>("spanCount", "spans stored"),
                   member<&R::sample_count>("sampleCount", "CPU samples stored"),
                   member_unless_empty<&R::spans>(
                       "spans", "calls, a caller before its callees; not in lists of requests"),
                   member_unless_empty<&R::stacks>(
                       "stacks",
                       "CPU samples by span and stack, most CPU time first; not in lists of "
                       "requests")});
  return shape;
}

const Shape& shape_of(const HostSummary*) {
  using H = HostSummary;
  static const auto shape = describe<H>(
      "FleetHost", "a process that sends requests",
      {member<&H::host>("host", "name of the host"),
       member<&H::service>("service", "name of the service"),
       member<&H::version>("version", "version of the service"),
       member<&H::instance>("instance", "id of the process that sends"),
       member<&H::pid>("pid", "process id"),
       member<&H::runtime>("runtime", "runtime version"),
       member<&H::relay_version>("relayVersion", "version of clrscope on the host"),
       member<&H::first>("first", "first batch, clock of the server"),
       member<&H::last>("last", "latest batch, clock of the server"),
       member<&H::silent>("silentMs", "time since the latest batch"),
       member<&H::skew>("skewMs", "clock of the server - clock of the host"),
       member<&H::batches>("batches", "batches stored"),
       member<&H::duplicates>("duplicates", "batches sent again and not stored twice"),
       member<&H::written_requests>("writtenRequests", "requests sent by the host"),
       member<&H::stored_requests>("storedRequests", "requests stored"),
       member<&H::lost_requests>("lostRequests", "requests lost on the way: sent - stored"),
       member<&H::written_spans>("writtenSpans", "spans sent by the host"),
       member<&H::stored_spans>("storedSpans", "spans stored"),
       member<&H::lost_spans>("lostSpans", "spans lost on the way: sent - stored"),
       member<&H::seen>("seenRequests", "requests that ended in the process"),
       member<&H::sampled>("sampledRequests", "of these, recorded with spans"),
       member<&H::sampling_percent>("samplingPercent", "share of sampled requests"),
       member<&H::unrecorded_requests>("unrecordedRequests", "requests lost before they were sent"),
       member<&H::unrecorded_spans>("unrecordedSpans", "spans lost before they were sent"),
       member<&H::recorder_cpu>("recorderCpuMs", "CPU time of the recorder outside the process"),
       member<&H::written_samples>("writtenSamples", "CPU samples sent by the host"),
       member<&H::stored_samples>("storedSamples", "CPU samples stored"),
       member<&H::lost_samples>("lostSamples", "CPU samples lost on the way: sent - stored"),
       member<&H::configuration>("configuration",
                                 "version of the central configuration that it has; 0: its own"),
       member<&H::wanted_configuration>("wantedConfiguration", "that it shall have"),
       member<&H::configuration_trouble>("configurationTrouble", "why it does not; else empty"),
       member<&H::unrecorded_samples>("unrecordedSamples",
                                      "CPU samples of requests, lost before they were sent")});
  return shape;
}

}  // namespace clrscope::store
