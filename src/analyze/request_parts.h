// When threads worked for the sampled requests of a recording: tells to whom a CPU sample belongs,
// by its thread and time.
//
// First every request is added, then samples are looked up. What it holds is bounded.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/shape.h"
#include "model/ids.h"
#include "model/request.h"

namespace clrscope::analyze {

// "GET /orders/{id}"; the path where no route matched.
std::string route_name(const RequestTrace& request);

// The CPU time of one route: what a flame graph of it is about.
struct RouteSamples {
  std::string route{};
  std::uint64_t requests = 0;  // of the route, in the recording
  std::uint64_t sampled = 0;   // of them: with the times of their threads
  std::uint64_t samples = 0;   // CPU samples in them
  std::uint64_t other = 0;     // in sampled requests of other routes
  std::uint64_t outside = 0;   // in none
  std::uint64_t not_kept = 0;  // parts of requests beyond the limit
};
const Shape& shape_of(const RouteSamples*);

class RequestParts {
 public:
  static constexpr std::size_t kMost = 8'000'000;

  explicit RequestParts(std::string route, std::size_t most = kMost) : most_(most) {
    seen_.route = std::move(route);
  }

  void add(const RequestTrace& request);
  // All requests were added.
  void finish();
  // Whether a CPU sample belongs to the route; counts it.
  bool take(ThreadId thread, TraceTime time);

  const RouteSamples& seen() const { return seen_; }
  // All that there are, for a hint; bounded.
  const std::set<std::string>& routes() const { return routes_; }

 private:
  struct Part {
    TraceTime begin;
    TraceTime end;
    bool wanted;
  };
  std::size_t most_;
  std::size_t held_ = 0;
  std::unordered_map<std::uint32_t, std::vector<Part>> parts_;  // by thread
  std::set<std::string> routes_;
  RouteSamples seen_;
};

}  // namespace clrscope::analyze
