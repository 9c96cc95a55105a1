#include "analyze/request_tally.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "analyze/durations.h"
#include "analyze/request_parts.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostWanted = 20;
constexpr std::string_view kOtherRoutes = "(other routes)";

// Buckets of a histogram: one for each value below 64, then 32 for each power of two.
constexpr unsigned kDirect = 6;

std::uint16_t bucket_of(nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kDirect) return static_cast<std::uint16_t>(value);
  const auto shift = width - kDirect;
  return static_cast<std::uint16_t>((shift << (kDirect - 1)) + (value >> shift));
}

// Its middle.
nanoseconds duration_of(std::uint16_t bucket) {
  constexpr unsigned kHalf = 1U << (kDirect - 1);
  if (bucket < 2 * kHalf) return nanoseconds{bucket};
  const unsigned shift = bucket / kHalf - 1;
  const auto low = static_cast<std::uint64_t>(bucket % kHalf + kHalf) << shift;
  return nanoseconds{static_cast<std::int64_t>(low + (std::uint64_t{1} << shift) / 2)};
}

nanoseconds percentile(const std::map<std::uint16_t, std::uint64_t>& durations, std::uint64_t count,
                       unsigned percent, nanoseconds max) {
  const auto rank = std::max<std::uint64_t>((count * percent + 99) / 100, 1);
  std::uint64_t seen = 0;
  for (const auto& [bucket, of_it] : durations) {
    seen += of_it;
    if (seen >= rank) return std::min(duration_of(bucket), max);
  }
  return max;
}

bool is_failed(const RequestTrace& request) {
  return request.status >= 500 || !request.error.empty();
}

nanoseconds mean(nanoseconds total, std::uint64_t count) {
  return count == 0 ? nanoseconds{} : nanoseconds{total.count() / static_cast<std::int64_t>(count)};
}

bool is_faster(const RequestTrace& a, const RequestTrace& b) {
  return between(a.begin, a.end) > between(b.begin, b.end);  // the fastest on top of a heap
}

RunningStep step_of(const RunningPart& part, TraceTime origin) {
  return {.start = between(origin, part.begin),
          .duration = between(part.begin, part.end),
          .thread = part.thread,
          .queued = part.queued};
}

ProfiledSpan span_answer(const RequestSpan& span, TraceTime origin) {
  ProfiledSpan out{.is_async = span.is_async,
                   .outcome = span.outcome,
                   .start = between(origin, span.begin),
                   .duration = between(span.begin, span.end),
                   .queued = span.queued,
                   .thread = span.thread};
  for (const auto& step : span.steps) {
    out.steps.push_back(step_of(step, origin));
    grow(out.running, out.steps.back().duration);
  }
  if (!span.is_async) out.running = out.duration;
  out.waiting = std::max(sum(out.duration, -out.running), nanoseconds{});
  return out;
}

ProfiledRequest request_answer(const RequestTrace& from, const std::vector<std::string>& methods,
                               const RequestTally::WallOf& wall_of) {
  ProfiledRequest out{.trace_id = to_text(from.trace_id),
                      .own_id = from.own_id,
                      .method = from.method,
                      .route = from.route,
                      .path = from.path,
                      .status = from.status,
                      .error = from.error,
                      .forced = from.forced,
                      .aborted = from.aborted,
                      .started = wall_of(from.begin),
                      .duration = between(from.begin, from.end),
                      .running = from.running,
                      .waiting = from.waiting,
                      .queued = from.queued,
                      .spans_lost = from.spans_lost};
  constexpr auto kUnknown = ~std::uint64_t{0};
  if (from.bytes_in != kUnknown) out.bytes_in = from.bytes_in;
  if (from.bytes_out != kUnknown) out.bytes_out = from.bytes_out;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (const auto& span : from.spans) {
    auto& one = out.spans.emplace_back(span_answer(span, from.begin));
    one.id = static_cast<std::uint32_t>(out.spans.size());
    numbers.emplace(span.id, one.id);
    if (const auto parent = numbers.find(span.parent);
        span.parent != 0 && parent != numbers.end() && parent->second != one.id)
      one.parent = parent->second;
    one.method = span.method < methods.size() ? methods[span.method] : "unknown";
  }
  for (const auto& part : from.parts) out.parts.push_back(step_of(part, from.begin));
  return out;
}

}  // namespace

RequestTally::Route& RequestTally::route_of(const RequestTrace& request) {
  const auto key = route_name(request);
  if (const auto found = routes_.find(key); found != routes_.end()) return found->second;
  if (routes_.size() < limits_.routes) {
    auto& made = routes_[key];
    made.method = request.method;
    made.route = request.route.empty() ? request.path : request.route;
    return made;
  }
  auto& others = routes_[std::string{kOtherRoutes}];
  others.route = kOtherRoutes;
  return others;
}

void RequestTally::add(RequestBatch batch) {
  if (batch.methods.size() > methods_.size()) methods_ = std::move(batch.methods);
  for (auto& request : batch.requests) {
    auto& route = route_of(request);
    const auto duration = between(request.begin, request.end);
    ++ended_;
    ++route.count;
    if (is_failed(request)) ++route.errors;
    grow(route.total, duration);
    route.max = std::max(route.max, duration);
    ++route.durations[bucket_of(duration)];
    if (!request.sampled) continue;
    ++sampled_;
    ++route.sampled;
    grow(route.running, request.running);
    grow(route.waiting, request.waiting);
    grow(route.queued, request.queued);
    keep(route, std::move(request));
  }
}

bool RequestTally::admit(const RequestTrace& request) {
  if (spans_ + request.spans.size() > limits_.spans) return false;
  spans_ += request.spans.size();
  ++kept_;
  return true;
}

void RequestTally::drop(const RequestTrace& request) {
  spans_ -= request.spans.size();
  --kept_;
}

void RequestTally::keep(Route& route, RequestTrace request) {
  if (!wanted_.empty() && to_text(request.trace_id).starts_with(wanted_) &&
      found_.size() < kMostWanted && admit(request)) {
    found_.push_back(std::move(request));
    return;
  }
  if (!admit(request)) return;
  if (is_failed(request)) {
    if (route.failed.size() < limits_.failed) {
      route.failed.push_back(std::move(request));
      return;
    }
    if (limits_.failed == 0) return drop(request);
    auto& oldest = route.failed[route.next_failed++ % limits_.failed];
    drop(oldest);
    oldest = std::move(request);
    return;
  }
  auto& slowest = route.slowest;
  slowest.push_back(std::move(request));
  std::ranges::push_heap(slowest, is_faster);
  if (slowest.size() <= limits_.slowest) return;
  std::ranges::pop_heap(slowest, is_faster);
  auto other = std::move(slowest.back());
  slowest.pop_back();
  keep_other(route, std::move(other));
}

// A reservoir: each of them stays with the same probability.
void RequestTally::keep_other(Route& route, RequestTrace request) {
  ++route.others_seen;
  if (route.others.size() < limits_.others) {
    route.others.push_back(std::move(request));
    return;
  }
  const auto at = random() % route.others_seen;
  if (at >= route.others.size()) return drop(request);
  drop(route.others[at]);
  route.others[at] = std::move(request);
}

std::uint64_t RequestTally::random() {
  seed_ ^= seed_ << 13;
  seed_ ^= seed_ >> 7;
  seed_ ^= seed_ << 17;
  return seed_;
}

std::vector<ProfiledRoute> RequestTally::routes(nanoseconds duration) const {
  std::vector<const Route*> order;
  for (const auto& [key, route] : routes_) order.push_back(&route);
  std::ranges::stable_sort(order, std::ranges::greater{}, &Route::total);
  const auto seconds = std::chrono::duration<double>{duration}.count();
  std::vector<ProfiledRoute> out;
  for (const auto* route : order)
    out.push_back({.method = route->method,
                   .route = route->route,
                   .count = route->count,
                   .per_second = seconds > 0 ? static_cast<double>(route->count) / seconds : 0,
                   .p50 = percentile(route->durations, route->count, 50, route->max),
                   .p95 = percentile(route->durations, route->count, 95, route->max),
                   .p99 = percentile(route->durations, route->count, 99, route->max),
                   .max = route->max,
                   .errors = route->errors,
                   .sampled = route->sampled,
                   .sampled_percent = 100.0 * static_cast<double>(route->sampled) /
                                      static_cast<double>(route->count),
                   .running = mean(route->running, route->sampled),
                   .waiting = mean(route->waiting, route->sampled),
                   .queued = mean(route->queued, route->sampled)});
  return out;
}

std::vector<ProfiledRequest> RequestTally::requests(const WallOf& wall_of) const {
  std::vector<ProfiledRequest> out;
  const auto add_all = [&](const std::vector<RequestTrace>& all) {
    for (const auto& one : all) out.push_back(request_answer(one, methods_, wall_of));
  };
  add_all(found_);
  for (const auto& [key, route] : routes_) {
    add_all(route.slowest);
    add_all(route.failed);
    add_all(route.others);
  }
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    return std::tuple{b.duration, a.started, a.trace_id} <
           std::tuple{a.duration, b.started, b.trace_id};
  });
  return out;
}

}  // namespace clrscope::analyze
