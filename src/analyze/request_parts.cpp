#include "analyze/request_parts.h"

#include <algorithm>

namespace clrscope::analyze {

std::string route_name(const RequestTrace& request) {
  return request.method + ' ' + (request.route.empty() ? request.path : request.route);
}

void RequestParts::add(const RequestTrace& request) {
  constexpr std::size_t kMostRoutes = 500;
  auto route = route_name(request);
  const bool wanted = route == seen_.route;
  if (wanted) ++seen_.requests;
  if (wanted && request.sampled) ++seen_.sampled;
  for (const auto& part : request.parts) {
    if (held_ == most_) {
      ++seen_.not_kept;
      continue;
    }
    ++held_;
    parts_[part.thread].push_back({part.begin, part.end, wanted});
  }
  if (routes_.size() < kMostRoutes) routes_.insert(std::move(route));
}

void RequestParts::finish() {
  for (auto& [thread, parts] : parts_) std::ranges::sort(parts, {}, &Part::begin);
}

bool RequestParts::take(ThreadId thread, TraceTime time) {
  const auto found = parts_.find(static_cast<std::uint32_t>(thread));
  if (found == parts_.end()) {
    ++seen_.outside;
    return false;
  }
  // A thread works for one request at a time: the last part that has begun is the one.
  const auto after = std::ranges::upper_bound(found->second, time, {}, &Part::begin);
  if (after == found->second.begin() || std::prev(after)->end < time) {
    ++seen_.outside;
    return false;
  }
  const bool wanted = std::prev(after)->wanted;
  ++(wanted ? seen_.samples : seen_.other);
  return wanted;
}

const Shape& shape_of(const RouteSamples*) {
  using A = RouteSamples;
  static const auto shape = describe<A>(
      "RouteSamples", "CPU samples of the requests of one route, found by thread and time",
      {member<&A::route>("route", "HTTP method and route"),
       member<&A::requests>("requests", "requests of the route in the recording"),
       member<&A::sampled>("sampled", "of them: requests whose threads are known"),
       member<&A::samples>("samples", "CPU samples in these"),
       member<&A::other>("otherRoutes", "CPU samples in requests of other routes, not in the tree"),
       member<&A::outside>("outside", "CPU samples in no sampled request, not in the tree"),
       member_unless_empty<&A::not_kept>("notKept",
                                         "times of threads beyond what fits into memory: their "
                                         "samples count as outside")});
  return shape;
}

}  // namespace clrscope::analyze
