// Two selections of requests side by side: what changed, and whether there are enough requests to
// say so. Built from the queries that every store answers; the engine does the sums.
#pragma once

#include <optional>

#include "store/store.h"

namespace clrscope::store {

struct CompareQuery {
  Selection before{};
  Selection after{};
  WallTime now{};
};

// What became of a route.
enum class Verdict : std::uint8_t { kSame, kBetter, kWorse, kMixed, kTooFew, kNew, kGone };
std::span<const std::string_view> names_of(Verdict);

struct ComparedSide {
  Latency latency{};
  double error_percent = 0;
  std::optional<std::chrono::nanoseconds> running_each{};  // mean of the sampled ones
  // Likewise. Nothing: there are no CPU samples, as of hosts that take none.
  std::optional<std::chrono::nanoseconds> cpu_each{};
};
const Shape& shape_of(const ComparedSide*);

struct RouteChange {
  std::string route{};  // empty: all routes
  ComparedSide before{};
  ComparedSide after{};
  // In percent; nothing: one side has too few requests, or samples.
  std::optional<double> p50{}, p95{}, p99{}, running{}, cpu{};
  Verdict verdict = Verdict::kSame;
  std::string reason{};  // one sentence
};
const Shape& shape_of(const RouteChange*);

struct Comparison {
  RouteChange overall{};
  std::vector<RouteChange> routes{};  // worse ones first, then by running time after
};
const Shape& shape_of(const Comparison*);

Result<Comparison> compare(Store& store, const CompareQuery& query);

// Two flame graphs as one tree. Nodes in preorder, as in Flame; one that a side does not have is 0
// there.
struct FlameChange {
  std::uint64_t before_requests = 0, after_requests = 0;
  std::uint64_t before_samples = 0, after_samples = 0;  // by running time: spans
  std::chrono::nanoseconds before_total{}, after_total{};
  std::vector<std::string> names{};
  std::vector<std::uint32_t> name{}, depth{};
  std::vector<std::uint64_t> before_self_ns{}, after_self_ns{};
};
const Shape& shape_of(const FlameChange*);

FlameChange merge_flames(const Flame& before, const Flame& after);

// `before` and `after` differ in their selections only.
Result<FlameChange> compare_flames(Store& store, const FlameQuery& before, const FlameQuery& after);

}  // namespace clrscope::store
