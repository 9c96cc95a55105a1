// What a store answers. Data and its shape for JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/shape.h"

namespace clrscope::store {

// from ≤ begin of a request < to, in unix nanoseconds.
struct TimeRange {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
};

// Which requests; empty: any.
struct Selection {
  TimeRange range{};
  std::string service{};
  std::string route{};  // "GET /orders/{id}", or "/orders/{id}" alone
  std::string host{};
  std::string version{};
  std::uint32_t status_from = 0;
  std::uint32_t status_to = ~0U;
};

struct ServiceSummary {
  std::string service{};
  std::vector<std::string> versions{};  // of the sources that sent in the range
  std::vector<std::string> hosts{};
  std::uint64_t requests = 0;
  std::uint64_t sampled = 0;
  std::uint64_t errors = 0;
  std::uint64_t spans = 0;
  WallTime first{};
  WallTime last{};
};
const Shape& shape_of(const ServiceSummary*);

struct Sender {
  std::string service{};
  std::string version{};
  std::string host{};
  auto operator<=>(const Sender&) const = default;
};

struct Latency {
  std::uint64_t requests = 0;
  std::optional<double> per_second{};
  std::uint64_t errors = 0;
  std::uint64_t sampled = 0;
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p90{};
  std::chrono::nanoseconds p95{};
  std::chrono::nanoseconds p99{};
  std::chrono::nanoseconds max{};
  std::chrono::nanoseconds running{};  // of all sampled ones
  std::chrono::nanoseconds waiting{};
  std::chrono::nanoseconds queued{};
};
const Shape& shape_of(const Latency*);

struct RoutePoint {
  WallTime time{};
  Latency latency{};
};
const Shape& shape_of(const RoutePoint*);

struct RouteSummary {
  std::string route{};
  Latency latency{};
  std::vector<RoutePoint> points{};
};
const Shape& shape_of(const RouteSummary*);

// What distinguishes the lines of a chart.
enum class GroupBy : std::uint8_t { kService, kVersion, kHost, kRoute, kStatus };
std::span<const std::string_view> names_of(GroupBy);

struct SeriesQuery {
  Selection selection{};  // its service may be empty if they are grouped by service
  GroupBy by = GroupBy::kRoute;
  std::chrono::nanoseconds step{};    // 0: no points over time
  WallTime now{};                     // where a range without an end ends
  std::vector<double> percentiles{};  // of the durations, beside those of Latency
  bool cpu = false;                   // also CPU times
};

struct Series {
  std::string group{};
  Latency latency{};
  std::vector<RoutePoint> points{};
  // Those that were asked for; not in JSON.
  std::vector<std::chrono::nanoseconds> percentiles{};
  std::uint64_t samples = 0;  // of the CPU
  std::chrono::nanoseconds cpu{};
};
const Shape& shape_of(const Series*);
// The order of series().
bool comes_before(GroupBy by, const Series& a, const Series& b);

// The slowest sampled requests of a band.
struct SlowestQuery {
  Selection selection{};
  double from_percentile = 0;
  double to_percentile = 100;
  std::size_t limit = 100;
};

// What a flame graph adds up.
enum class FlameWeight : std::uint8_t {
  kRunning,  // running time of the measured methods
  kCpu,      // CPU samples, with all methods of their stacks
};
std::span<const std::string_view> names_of(FlameWeight);

struct FlameQuery {
  Selection selection{};
  double from_percentile = 0;
  double to_percentile = 100;
  FlameWeight weight = FlameWeight::kRunning;
};

// Nodes in preorder; the parent of a node is the nearest one before it with a smaller depth.
struct Flame {
  std::uint64_t requests = 0;  // in the band, with spans; by CPU: with samples
  std::uint64_t spans = 0;
  std::uint64_t samples = 0;  // by CPU: instead of spans
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds shortest{};  // request in the band
  std::chrono::nanoseconds longest{};
  std::vector<std::string> names{};
  std::vector<std::uint32_t> name{};  // index in names
  std::vector<std::uint32_t> depth{};
  std::vector<std::uint64_t> self_ns{};
  std::vector<std::uint64_t> calls{};
};
const Shape& shape_of(const Flame*);

struct StoredStep {
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds duration{};
  std::uint32_t thread = 0;
};
const Shape& shape_of(const StoredStep*);

struct StoredSpan {
  std::string method{};
  std::uint32_t parent = 0;  // 1 + position; 0: the request
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds self{};
  std::chrono::nanoseconds queued{};
  std::uint32_t thread = 0;
  std::uint32_t kind = 0;  // outcome + 4 when async
  std::string outcome{};
  bool is_async = false;
  std::vector<StoredStep> steps{};
};
const Shape& shape_of(const StoredSpan*);

// CPU samples of one request that have the same span and stack.
struct StoredStack {
  std::uint32_t span = 0;  // 1 + position; 0: none of the measured methods ran
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{};
  std::vector<std::string> frames{};  // the innermost first
};
const Shape& shape_of(const StoredStack*);

struct StoredRequest {
  std::string trace_id{};  // hexadecimal
  std::string service{};
  std::string host{};
  std::string version{};
  std::string method{};
  std::string route{};
  std::string path{};
  std::string error{};
  std::uint32_t status = 0;
  std::uint32_t flags = 0;
  bool sampled = false;
  bool aborted = false;
  bool forced = false;
  WallTime begin{};
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};
  std::chrono::nanoseconds queued{};
  std::uint32_t spans_lost = 0;
  std::uint32_t span_count = 0;
  std::uint32_t sample_count = 0;
  std::vector<StoredSpan> spans{};    // empty in lists
  std::vector<StoredStack> stacks{};  // most CPU time first; empty in lists
};
const Shape& shape_of(const StoredRequest*);

// One process that sent batches.
struct HostSummary {
  std::string host{};
  std::string service{};
  std::string version{};
  std::string instance{};  // hexadecimal
  std::uint32_t pid = 0;
  std::string runtime{};
  std::string relay_version{};
  WallTime first{};  // clock of the server
  WallTime last{};
  std::chrono::nanoseconds silent{};  // since `last`: set by who knows the time
  std::chrono::nanoseconds skew{};
  std::uint64_t batches = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t written_requests = 0;
  std::uint64_t written_spans = 0;
  std::uint64_t stored_requests = 0;
  std::uint64_t stored_spans = 0;
  std::uint64_t lost_requests = 0;  // written - stored
  std::uint64_t lost_spans = 0;
  std::uint64_t seen = 0;
  std::uint64_t sampled = 0;
  double sampling_percent = 0;
  std::uint64_t unrecorded_requests = 0;  // lost before they were written
  std::uint64_t unrecorded_spans = 0;
  std::chrono::nanoseconds recorder_cpu{};
  std::uint64_t written_samples = 0;
  std::uint64_t stored_samples = 0;
  std::uint64_t lost_samples = 0;  // written - stored
  std::uint64_t unrecorded_samples = 0;
  // Set by who knows the configurations.
  std::uint64_t configuration = 0;         // version that it has; 0: its own
  std::uint64_t wanted_configuration = 0;  // that it shall have
  std::string configuration_trouble{};     // why it does not
};
const Shape& shape_of(const HostSummary*);

}  // namespace clrscope::store
