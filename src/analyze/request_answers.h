// What clrscope tells about profiled HTTP requests: routes, requests, and the spans of their
// methods.
//
// The answer of `clrscope requests`, of the report "requests" and of their routes. RequestTally
// makes it from model::RequestBatch. Ids of spans are numbers inside one request, from 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/unmeasured_method.h"
#include "base/shape.h"
#include "model/request.h"
#include "model/trace_id.h"

namespace clrscope {
std::span<const std::string_view> names_of(SpanOutcome outcome);
}

namespace clrscope::analyze {

// When one thread worked for a span or a request; times since the request began.
struct RunningStep {
  std::chrono::nanoseconds start{};
  std::chrono::nanoseconds duration{};
  std::uint32_t thread = 0;
  std::chrono::nanoseconds queued{};  // of steps: ready, before it began
};
const Shape& shape_of(const RunningStep*);

struct ProfiledSpan {
  std::uint32_t id = 0;      // from 1
  std::uint32_t parent = 0;  // 0: the request itself
  std::string method{};
  bool is_async = false;
  SpanOutcome outcome = SpanOutcome::kReturned;
  std::chrono::nanoseconds start{};  // since the request began
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};
  std::chrono::nanoseconds queued{};
  std::uint32_t thread = 0;
  std::vector<RunningStep> steps{};  // of async methods
};
const Shape& shape_of(const ProfiledSpan*);

struct ProfiledRequest {
  std::string trace_id{};
  bool own_id = false;
  std::string method{};
  std::string route{};
  std::string path{};
  std::uint16_t status = 0;
  std::string error{};
  bool forced = false;
  bool aborted = false;
  WallTime started{};
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};
  std::chrono::nanoseconds queued{};
  std::optional<std::uint64_t> bytes_in{};
  std::optional<std::uint64_t> bytes_out{};
  std::uint32_t spans_lost = 0;
  std::vector<ProfiledSpan> spans{};  // by start; a parent before its children
  std::vector<RunningStep> parts{};
};
const Shape& shape_of(const ProfiledRequest*);

struct ProfiledRoute {
  std::string method{};
  std::string route{};
  std::uint64_t count = 0;
  double per_second = 0;
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p95{};
  std::chrono::nanoseconds p99{};
  std::chrono::nanoseconds max{};
  std::uint64_t errors = 0;
  std::uint64_t sampled = 0;
  double sampled_percent = 0;
  std::chrono::nanoseconds running{};  // means of the sampled ones
  std::chrono::nanoseconds waiting{};
  std::chrono::nanoseconds queued{};
};
const Shape& shape_of(const ProfiledRoute*);

struct RequestLosses {
  std::uint64_t records = 0;   // no room in a ring
  std::uint64_t requests = 0;  // of them: ends of requests; those are missing in the routes
  std::uint64_t spans = 0;     // beyond the limit of one request, or of no known request
  std::uint64_t late = 0;      // ended after their request was handed over
  std::uint64_t orphans = 0;   // the parent is missing: shown below the request
  std::uint64_t damaged = 0;
};
const Shape& shape_of(const RequestLosses*);

struct RequestCost {
  double cpu_percent = 0;
  std::chrono::nanoseconds hooks{};
  std::optional<std::chrono::nanoseconds> hearing{};  // older recordings do not have it
  std::chrono::nanoseconds process{};
};
const Shape& shape_of(const RequestCost*);

struct ProbedMethods {
  std::uint64_t chosen = 0;
  std::uint64_t instrumented = 0;
  std::uint64_t refused = 0;
  std::vector<UnmeasuredMethod> not_measured{};
};
const Shape& shape_of(const ProbedMethods*);

// To a fleet server.
struct SentRequests {
  std::string to{};
  std::uint64_t requests = 0;       // given to the relay
  std::uint64_t spans = 0;          // of these
  std::uint64_t samples = 0;        // CPU samples of these
  std::uint64_t batches = 0;        // given to the relay
  std::uint64_t delivered = 0;      // batches that the server has acknowledged
  std::uint64_t lost_requests = 0;  // that did not fit
  std::uint64_t waiting_bytes = 0;  // still on disk or in memory
  std::string trouble{};            // why the server could not be reached, the last time
};
const Shape& shape_of(const SentRequests*);

struct RequestProfile {
  std::int32_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t seen = 0;
  std::uint64_t sampled = 0;
  std::uint64_t forced = 0;
  std::uint64_t in_flight = 0;
  double probability = 0;
  RequestLosses lost{};
  RequestCost cost{};
  ProbedMethods methods{};
  std::vector<ProfiledRoute> routes{};
  std::vector<ProfiledRequest> requests{};
  std::uint64_t not_kept = 0;
  std::string file{};  // that it was written to
  std::optional<std::uint64_t> samples{};
  std::optional<SentRequests> sent{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const RequestProfile*);

}  // namespace clrscope::analyze
